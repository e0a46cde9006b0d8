/**
 * As `lib/common.ts`: the modules that the islands with a cart and the payment dialog use, in one
 * file.
 */
import "../../lib/pricing/bindingPrice";
import "../../lib/pricing/cart";
import "./dialogLoading";
import "../../lib/pricing/instalments";
import "../../lib/pricing/quote";
import "../../schemas/catalogue";
import "./WholeOffer";
