/**
 * The paths of objects below `/api/v1`.
 *
 * @module
 */

/** The path of a conversation. */
export function conversationPath(id: string): string {
  return `/conversations/${encodeURIComponent(id)}`;
}

/** The path of a message. */
export function messagePath(conversationId: string, id: string): string {
  return `${conversationPath(conversationId)}/messages/${encodeURIComponent(id)}`;
}
