/**
 * The parts of the OpenAPI document that the page shows.
 *
 * @module
 */

/** A JSON Schema, or a reference to one. */
export interface SchemaNode {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: SchemaNode;
}

interface Media {
  readonly schema?: SchemaNode;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: { readonly error?: { message: string } } }>>;
}

type Content = Readonly<Record<string, Media>>;

export interface Operation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly (Parameter & { readonly $ref?: string })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>;
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly servers?: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, SchemaNode>> };
}

/** One endpoint. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const methods = ["get", "post", "put", "patch", "delete"];

/** The endpoints by their tags, both in the document's order. */
export function endpointsByTag({ paths }: ApiDocument): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (!methods.includes(method)) continue;
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), { method: method.toUpperCase(), path, operation }]);
    }
  }
  return groups;
}

/** What a schema accepts, in a few words, and the name of the one that it refers to. */
export function typeOf(schema: SchemaNode = {}): { readonly text: string; readonly name?: string } {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return { text: name, name };
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) {
    const types = alternatives.map(typeOf);
    const name = types.find((type) => type.name !== undefined)?.name;
    return { text: types.map(({ text }) => text).join(" | "), ...(name !== undefined && { name }) };
  }
  if (schema.const !== undefined) return { text: JSON.stringify(schema.const) };
  if (schema.enum) return { text: schema.enum.map((value) => JSON.stringify(value)).join(" | ") };
  if (schema.items) {
    const { text, name } = typeOf(schema.items);
    return { text: `${text}[]`, ...(name !== undefined && { name }) };
  }
  return { text: [schema.type ?? "object"].flat().join(" | ") };
}

/** The limits of a schema's values. */
export function limitsOf({
  minimum,
  maximum,
  minLength,
  maxLength,
  format,
  pattern,
}: SchemaNode = {}): string {
  const limits: string[] = [];
  if (format !== undefined) limits.push(format);
  const range = (least = 0, most = Infinity) => (most < 1e8 ? `${least}–${most}` : `at least ${least}`);
  if (minimum !== undefined || maximum !== undefined) limits.push(range(minimum, maximum));
  if (maxLength !== undefined) limits.push(`${range(minLength, maxLength)} characters`);
  if (pattern !== undefined && pattern !== "\\S") limits.push(pattern);
  return limits.join(", ");
}
