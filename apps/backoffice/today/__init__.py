"""The start page of the admin, "Hoy": what needs a person now, and the money of the academy."""
