"""Finished public pages and JSON answers, kept in memory and sent without rendering them again.

1. A view with the decorator `public_page` gives the same answer to everybody (`policy`).
2. `middleware` renders it once, from a request that has nothing of the visitor, and keeps the bytes
   (`answers`), in the process and in Django's cache.
3. Triggers in the database record each commit that changes what such a view shows (`triggers`).
   Every process asks for them twice a second (`version`) and then renders anew.
4. No answer is kept longer than a minute, or past a full hour: campaigns begin and end at full
   hours, and the home page shows another exercise each hour.
"""
