/**
 * Client tokens: what an app's server hands to one end user's browser instead of its key.
 *
 * @module
 */

import { createSecretKind, type SecretKind } from "./secrets.ts";

/** The form of client tokens. */
export const clientTokens: SecretKind = createSecretKind("twinct_");
