/**
 * As `common.ts`: the modules that the islands with a cart and the payment dialog use, in one file.
 */
import "./bindingPrice";
import "./cart";
import "./paymentDialog";
import "./quote";
import "../schemas/catalogue";
import "../islands/catalogue/WholeOffer";
