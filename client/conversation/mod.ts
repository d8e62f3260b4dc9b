/**
 * A conversation as it is seen on a page: what `client.conversations.open` makes. That loads this module when it is first
 * called; whoever imports it has it in the bundle from the start.
 *
 * @module
 */

export {
  type ConversationClient,
  type ConversationState,
  OpenConversation,
  type OpenConversationOptions,
  type SendMessageOptions,
  type UnsentMessage,
} from "./path.ts";
