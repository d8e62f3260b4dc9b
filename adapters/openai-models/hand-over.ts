/**
 * The tool with which a model hands a conversation over to a person.
 *
 * @module
 */

import type { JsonObject } from "../../core/base/json.ts";
import type { ReplyOutput, Turn } from "../../core/twins/engine.ts";
import type { Tool } from "../../core/twins/tools.ts";

const inputSchema: JsonObject = { type: "object", properties: {} };

/** The tool of a reply, where its twin hands over and there is a conversation in which a person can answer. */
export function handOverTools(
  { twin, origin }: Turn,
  output: Pick<ReplyOutput, "handOver">,
): readonly Tool[] {
  if (!twin.handover || !origin?.conversationId) return [];
  return [
    {
      name: "hand_over_to_person",
      description:
        "Lets a person answer in this conversation from now on. Call it when the user asks for a person, or when only a " +
        "person can help. Then tell the user, in a sentence, that a person will answer here.",
      inputSchema,
      run() {
        output.handOver();
        return "A person answers from now on. Tell the user so.";
      },
    },
  ];
}
