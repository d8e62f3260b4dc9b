/**
 * A conversation as it is seen on a page: what `client.conversations.open` makes. That loads this module when it is first
 * called; whoever imports it has it in the bundle from the start.
 *
 * @module
 */

export { OpenConversation, type OpenConversationOptions } from "./open-conversation.ts";
export type { SendMessageOptions } from "./sending.ts";
export type { ConversationClient, ConversationState, UnsentMessage } from "./state.ts";
