// A chatbot as in LangGraph.js' quick start: one node that asks the model, with the messages as its state.

import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "scripted",
  apiKey: "none",
  configuration: { baseURL: process.env.MODEL_URL },
});

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", async ({ messages }) => ({ messages: await model.invoke(messages) }))
  .addEdge("__start__", "agent")
  .compile();
