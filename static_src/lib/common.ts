/**
 * The modules that most islands use. esbuild gives each set of modules with the same importers a
 * file of its own, so every island with React and the payment dialog import this list: then these
 * modules are one file, and a page does not fetch a dozen files of half a kilobyte.
 *
 * Modules that few pages need are not listed, nor is what the loader uses without React.
 */
import "./http/api";
import "./pricing/discounts";
import "./icons";
import "./dialog/modal";
import "./pricing/money";
import "./http/resource";
import "./pricing/vatNote";
import "../schemas/academy";
import "../schemas/paymentType";
import "../schemas/pricing";
import "../schemas/universities";
