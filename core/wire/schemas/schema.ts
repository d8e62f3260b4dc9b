/**
 * The language of the schemas: what of JSON Schema (2020-12) the service uses, and the TypeScript type of what a schema
 * describes.
 *
 * @module
 */

/** The subset of JSON Schema that the service uses. */
export interface Schema {
  readonly type?: JsonType | readonly JsonType[];
  readonly anyOf?: readonly Schema[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxProperties?: number;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A body or a query: an object of values, or of lists of them. */
export interface InputSchema extends Schema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, ValueSchema>>;
}

/** A value that contains no others, or a list or an object of such. */
export interface ValueSchema extends Omit<Schema, "anyOf" | "items" | "properties" | "required"> {
  readonly type: ValueType | readonly ValueType[];
  readonly items?: ValueSchema;
  readonly propertyNames?: ValueSchema;
  readonly additionalProperties?: ValueSchema;
}

export type ValueType = "string" | "integer" | "boolean" | "array" | "object" | "null";

/** The types of JSON Schema. */
export type JsonType = "string" | "integer" | "number" | "boolean" | "array" | "object" | "null";

/** The TypeScript type of the values that a schema describes. */
export type FromSchema<S> = object extends S
  ? unknown
  : S extends { readonly anyOf: readonly (infer Each)[] }
    ? FromSchema<Each>
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends { readonly type: readonly (infer Type)[] }
        ? { [Each in Type & string]: FromSchema<Omit<S, "type"> & { readonly type: Each }> }[Type & string]
        : S extends { readonly type: "string" }
          ? string
          : S extends { readonly type: "integer" | "number" }
            ? number
            : S extends { readonly type: "boolean" }
              ? boolean
              : S extends { readonly type: "null" }
                ? null
                : S extends { readonly type: "array"; readonly items: infer Item }
                  ? FromSchema<Item>[]
                  : S extends { readonly type: "object"; readonly additionalProperties: infer Value }
                    ? Record<string, FromSchema<Value>>
                    : S extends { readonly type: "object"; readonly properties: infer Properties }
                      ? FromProperties<
                          Properties,
                          S extends { readonly required: readonly (infer Name)[] } ? Name : never
                        >
                      : never;

/** Required members are always present, and so are those with a default: it is filled in on reading. */
type FromProperties<Properties, Required> = {
  -readonly [Name in keyof Properties as IsPresent<Properties, Name, Required> extends true
    ? Name
    : never]: FromSchema<Properties[Name]>;
} & {
  -readonly [Name in keyof Properties as IsPresent<Properties, Name, Required> extends true
    ? never
    : Name]?: FromSchema<Properties[Name]>;
};

type IsPresent<Properties, Name extends keyof Properties, Required> = Name extends Required
  ? true
  : Properties[Name] extends { readonly default: unknown }
    ? true
    : false;

/** A value or null. Generators of typed clients miss a null among the types of an object or the values of an enum. */
export function orNull<const Value extends Schema>(value: Value, description: string) {
  return { anyOf: [value, { type: "null" }], description } as const;
}

/** An object with all properties required. */
export function record<const Properties extends Record<string, unknown>>(properties: Properties) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties) as (keyof Properties & string)[],
  } as const;
}
