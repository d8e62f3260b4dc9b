/**
 * The endpoints of webhooks, called with a JWT: addresses that are told of what happens.
 *
 * @module
 */

import type { RandomBytes } from "../base/ids.ts";
import { type HandlerContext, route } from "../http/route.ts";
import { dayMs } from "../store/records.ts";
import type { ListedWebhook, WebhookRecord } from "../store/webhooks.ts";
import { ApiError, validationError } from "../wire/errors.ts";
import { deliveryResource, webhookResource } from "../wire/resources.ts";
import {
  createdWebhookSchema,
  createWebhookSchema,
  deliverySchema,
  pageQuerySchema,
  webhookSchema,
} from "../wire/schemas.ts";
import { pageOf, sliceOf } from "./pagination.ts";

/** Webhooks of one owner. */
const mostWebhooks = 10;

const ofWebhooks = {
  credential: "token",
  needsWebhooks: true,
} as const;

/** Each asks for addresses, or makes a secret. */
const limited = { ownerPolicy: { bucket: "webhooks", capacity: 120 }, idempotency: "refused" } as const;

export const webhookRoutes = [
  route({
    ...ofWebhooks,
    ...limited,
    operationId: "createWebhook",
    method: "POST",
    path: "/api/v1/webhooks",
    summary: "Have an address told of what happens; the secret that signs is shown only once",
    audit: { action: "create_webhook", object: "id" },
    body: createWebhookSchema,
    success: {
      status: 201,
      description: "The webhook with its secret.",
      schema: createdWebhookSchema,
      location: true,
    },
    errors: ["webhook_limit_reached"],
    async handle({ caller: { owner }, body }, context) {
      const { store, clock, newId, newKeys, api } = context;
      const problem = await requireWebhooks(context).check(body.url, { owner, clock });
      if (problem !== undefined) throw validationError([{ path: "url", message: problem }]);
      const record: WebhookRecord = {
        id: newId("hook"),
        owner,
        url: body.url,
        events: body.events ? [...new Set(body.events)] : null,
        description: body.description ?? null,
        secret: newSecret(newKeys.random),
        previousSecret: null,
        previousUntil: null,
        status: "active",
        createdAt: clock.now(),
      };
      if ((await store.createWebhook(record, mostWebhooks)) === "limit_reached") {
        throw new ApiError(
          "webhook_limit_reached",
          `You already have ${mostWebhooks} webhooks; delete one first.`,
        );
      }
      return {
        data: withSecret({ ...record, lastDelivery: null }),
        headers: { Location: `${api.root}/webhooks/${record.id}` },
      };
    },
  }),

  route({
    ...ofWebhooks,
    operationId: "listWebhooks",
    method: "GET",
    path: "/api/v1/webhooks",
    summary: "List your webhooks, newest first, without their secrets",
    query: pageQuerySchema,
    success: { status: 200, description: "A page of webhooks.", schema: webhookSchema, list: true },
    async handle({ caller: { owner }, query }, context) {
      requireWebhooks(context);
      return pageOf(query, await context.store.listWebhooks(owner, sliceOf(query)), webhookResource);
    },
  }),

  route({
    ...ofWebhooks,
    operationId: "getWebhook",
    method: "GET",
    path: "/api/v1/webhooks/{id}",
    summary: "Get a webhook, without its secret",
    success: { status: 200, description: "The webhook.", schema: webhookSchema },
    errors: ["webhook_not_found"],
    async handle({ caller: { owner }, params }, context) {
      return { data: webhookResource(await requireWebhook(context, owner, params.id)) };
    },
  }),

  route({
    ...ofWebhooks,
    operationId: "deleteWebhook",
    method: "DELETE",
    path: "/api/v1/webhooks/{id}",
    summary: "Delete a webhook with its deliveries; it is told nothing more",
    audit: { action: "delete_webhook", object: "id" },
    success: { status: 204, description: "There is no such webhook any more." },
    async handle({ caller: { owner }, params }, context) {
      requireWebhooks(context);
      await context.store.deleteWebhook(owner, params.id);
      return {};
    },
  }),

  route({
    ...ofWebhooks,
    ...limited,
    operationId: "rotateWebhook",
    method: "POST",
    path: "/api/v1/webhooks/{id}/rotate",
    summary:
      "Give a webhook another secret; the one before signs as well for a day, and a disabled webhook is enabled",
    audit: { action: "rotate_webhook", object: "id" },
    success: {
      status: 200,
      description: "The webhook with its new secret.",
      schema: createdWebhookSchema,
    },
    errors: ["webhook_not_found"],
    async handle({ caller: { owner }, params }, context) {
      requireWebhooks(context);
      const { store, clock, newKeys, tells } = context;
      const rotation = { secret: newSecret(newKeys.random), previousUntil: clock.now() + dayMs };
      const rotated = (await store.rotateWebhook(owner, params.id, rotation)) ?? webhookNotFound();
      tells?.told([rotated.id]); // what it was not told while it was disabled
      return { data: withSecret(rotated) };
    },
  }),

  route({
    ...ofWebhooks,
    operationId: "listDeliveries",
    method: "GET",
    path: "/api/v1/webhooks/{id}/deliveries",
    summary: "List what a webhook was told in the last seven days, and is still to be told, newest first",
    query: pageQuerySchema,
    success: { status: 200, description: "A page of deliveries.", schema: deliverySchema, list: true },
    errors: ["webhook_not_found"],
    async handle({ caller: { owner }, params, query }, context) {
      const { id } = await requireWebhook(context, owner, params.id);
      return pageOf(query, await context.store.listDeliveries(owner, id, sliceOf(query)), deliveryResource);
    },
  }),

  route({
    ...ofWebhooks,
    operationId: "retryDelivery",
    method: "POST",
    path: "/api/v1/webhooks/{id}/deliveries/{deliveryId}/retry",
    summary: "Try a delivery again now, however it ended",
    audit: { action: "retry_delivery", object: "id" },
    success: { status: 202, description: "The delivery, which is tried again.", schema: deliverySchema },
    errors: ["webhook_not_found", "delivery_not_found", "webhook_disabled"],
    async handle({ caller: { owner }, params }, context) {
      const { id, status } = await requireWebhook(context, owner, params.id);
      const { store, clock, tells } = context;
      if (status === "disabled") {
        throw new ApiError("webhook_disabled", "The webhook is disabled; rotate its secret first.");
      }
      const delivery = await store.retryDelivery(owner, id, params.deliveryId, clock.now());
      if (!delivery) throw new ApiError("delivery_not_found", "The webhook has no delivery with this id.");
      tells?.told([id]);
      return { data: deliveryResource(delivery) };
    },
  }),
];

/** A host may have mounted an endpoint by itself. */
function requireWebhooks({ webhooks }: HandlerContext): NonNullable<HandlerContext["webhooks"]> {
  if (!webhooks) throw new ApiError("not_found", "There is nothing at this path.");
  return webhooks;
}

async function requireWebhook(context: HandlerContext, owner: string, id: string): Promise<ListedWebhook> {
  requireWebhooks(context);
  return (await context.store.getWebhook(owner, id)) ?? webhookNotFound();
}

function webhookNotFound(): never {
  throw new ApiError("webhook_not_found", "There is no webhook with this id.");
}

function withSecret(webhook: ListedWebhook) {
  return { ...webhookResource(webhook), secret: webhook.secret };
}

/** What signs deliveries, in the form that Standard Webhooks gives it. */
function newSecret(random: RandomBytes): string {
  const bytes = random(new Uint8Array(32)).slice(0, 32);
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
