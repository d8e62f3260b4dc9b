import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { type Environment, readConfig } from "../../server/command-line.ts";
import { pagesOf } from "../../server/playground/pages.ts";
import { ConfigError, type Settings, settings } from "../../server/settings.ts";
import { settingsTable, usage } from "../../server/usage.ts";

function serve(args: readonly string[], environment: Environment = {}): Settings {
  const config = readConfig(args, environment);
  assert.equal(config.command, "serve");
  return config.command === "serve" ? config.settings : assert.fail();
}

/** The one-line error for a bad setting. */
function complaint(args: readonly string[], environment: Environment = {}): string {
  try {
    readConfig(args, environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.ok(!/[\n\r]/.test(error.message), error.message);
    return error.message;
  }
  return assert.fail(`accepted: ${args.join(" ")} ${JSON.stringify(environment)}`);
}

describe("settings", () => {
  test("they have defaults", () => {
    assert.deepEqual(serve([]), {
      host: "127.0.0.1",
      port: 8787,
      twinsDir: undefined,
      database: { kind: "sqlite", path: "./data/twins.db" },
      databasePoolSize: 10,
      redisUrl: undefined,
      jwtSecret: undefined,
      jwtJwksUrl: undefined,
      jwtPublicKey: undefined,
      jwtIssuer: undefined,
      jwtAudience: undefined,
      jwtRequire: undefined,
      keyMaxDays: undefined,
      modelBaseUrl: undefined,
      modelApiKey: undefined,
      modelName: undefined,
      modelChoices: [],
      modelEmbeddings: undefined,
      moderationModel: undefined,
      moderationBaseUrl: undefined,
      moderationApiKey: undefined,
      continueReplies: "never",
      mcpServers: undefined,
      maxTwins: 100,
      corsOrigins: [],
      metricsPort: undefined,
      readOnlyPerHour: 200,
      fullAccessPerHour: 500,
      maxPerHour: 1_000_000,
      ownerTokensPerDay: undefined,
      retentionDays: undefined,
      maxRunningReplies: 500,
      maxMessageCharacters: 131_072,
      maxConversationStreams: 100,
      heartbeatMs: 5_000,
      maxReplyMs: 300_000,
      leaseMs: 30_000,
      shutdownGraceMs: 25_000,
      shutdownDelayMs: 0,
      onDisconnect: "continue",
      openaiApi: "on",
      mcp: "on",
      webhooks: "on",
      webhookHosts: [],
      basePath: "",
      playground: undefined,
      logFormat: undefined,
      logLevel: "info",
    });
  });

  test("a flag takes its value as the next argument or after =, and wins over the variable", () => {
    assert.equal(serve(["--port", "1"], { PORT: "2" }).port, 1);
    assert.equal(serve(["--port=1"], { PORT: "2" }).port, 1);
    assert.equal(serve([], { PORT: "2" }).port, 2);
    assert.equal(serve(["--model-name=a=b"]).modelName, "a=b");
  });

  test("a valid flag makes up for an invalid variable", () => {
    assert.equal(serve(["--port=1"], { PORT: "x" }).port, 1);
  });

  test("a number may be the least or the greatest that is accepted", () => {
    assert.deepEqual([serve(["--port", "0"]).port, serve(["--port", "65535"]).port], [0, 65_535]);
  });

  test("an empty variable counts as absent", () => {
    assert.equal(serve([], { PORT: "", JWT_SECRET: "", CORS_ORIGINS: "" }).port, 8787);
  });

  test("every setting except secrets can be given as a flag", () => {
    const values: Record<string, string> = {
      PORT: "1",
      DATABASE_URL: "memory:",
      DATABASE_POOL_SIZE: "5",
      REDIS_URL: "redis://127.0.0.1",
      JWT_PUBLIC_KEY: '{"kty":"OKP"}',
      JWT_JWKS_URL: "https://id.example/jwks",
      JWT_REQUIRE: "role=admin",
      KEY_MAX_DAYS: "90",
      MODEL_BASE_URL: "http://127.0.0.1/v1",
      MODERATION_BASE_URL: "http://127.0.0.1/v1",
      CORS_ORIGINS: "https://app.example",
      METRICS_PORT: "9464",
      MAX_PER_HOUR: "5000",
      MAX_TWINS: "5",
      MODEL_CHOICES: "large",
      OWNER_TOKENS_PER_DAY: "5000",
      RETENTION_DAYS: "30",
      READ_ONLY_PER_HOUR: "1",
      FULL_ACCESS_PER_HOUR: "1000000",
      MAX_RUNNING_REPLIES: "1",
      MAX_CONVERSATION_STREAMS: "1",
      MAX_MESSAGE_CHARACTERS: "1",
      HEARTBEAT_MS: "100",
      MAX_REPLY_MS: "100",
      LEASE_MS: "100",
      SHUTDOWN_GRACE_MS: "100",
      SHUTDOWN_DELAY_MS: "100",
      CONTINUE_REPLIES: "prefix",
      ON_DISCONNECT: "cancel",
      OPENAI_API: "off",
      MCP: "off",
      WEBHOOKS: "off",
      WEBHOOK_HOSTS: "hooks.internal, 127.0.0.1:9000",
      BASE_PATH: "/x",
      PLAYGROUND: "off",
      LOG_LEVEL: "debug",
      LOG_FORMAT: "pretty",
    };
    for (const [name, { variable, flag, fallback }] of Object.entries(settings)) {
      const value = values[variable] ?? "x".repeat(40);
      const key = name as keyof Settings;
      const byVariable = serve([], { [variable]: value })[key];
      assert.notDeepEqual(byVariable, serve([])[key], `${variable} has no effect (default ${fallback})`);
      if (flag) assert.deepEqual(serve([`--${flag}`, value])[key], byVariable);
    }
  });

  test("secrets are taken only from variables", () => {
    for (const variable of ["JWT_SECRET", "MODEL_API_KEY"]) {
      const flag = `--${variable.toLowerCase().replaceAll("_", "-")}`;
      const message = complaint([flag, "tell nobody, it is a secret of mine"]);
      assert.ok(message.includes(variable) && message.includes(flag), message);
      assert.ok(!message.includes("tell nobody"), message);
    }
  });

  test("an invalid value is refused with the setting's name and what is accepted", () => {
    const cases: [variable: string, value: string, accepted: string][] = [
      ["PORT", "65536", "from 0 to 65535"],
      ["PORT", "-1", "whole number"],
      ["PORT", "1.5", "whole number"],
      ["PORT", "0x10", "whole number"],
      ["PORT", "1e3", "whole number"],
      ["PORT", " 80", "whole number"],
      ["PORT", "80\n81", "whole number"],
      ["HOST", "a b", "host name"],
      ["HOST", "http://127.0.0.1", "host name"],
      ["TWINS_DIR", " ", "folder"],
      ["DATABASE_POOL_SIZE", "0", "from 1"],
      ["REDIS_URL", "127.0.0.1:6379", "redis://"],
      ["REDIS_URL", "http://127.0.0.1", "redis://"],
      ["JWT_JWKS_URL", "id.example/jwks", "http"],
      ["JWT_JWKS_URL", "file:///etc/keys", "http"],
      ["JWT_JWKS_URL", "https://user:pass@id.example/jwks", "without a user or password"],
      ["JWT_PUBLIC_KEY", "./public.pem", "PEM"],
      ["JWT_ISSUER", " ", "text"],
      ["JWT_ISSUER", "https://id.example\r", "without leading or trailing white space"],
      ["JWT_SECRET", `${"x".repeat(32)}\n`, "without leading or trailing white space"],
      ["DATABASE_URL", "sqlite:twins.db\r", "no trailing white space"],
      ["TWINS_DIR", "./twins ", "without leading or trailing white space"],
      ["MODEL_BASE_URL", "api.openai.com/v1", "http"],
      ["MODEL_BASE_URL", "https://api.openai.com/v1?x=y", "a query"],
      ["MODEL_BASE_URL", "https://api.openai.com/v1/chat/completions", "without what requests add"],
      ["MODEL_BASE_URL", "https://api.openai.com/v1/embeddings/", "without what requests add"],
      ["MODEL_BASE_URL", "https://api.openai.com/v1/responses", "up to and including /v1"],
      ["MODERATION_BASE_URL", "https://api.openai.com/v1/moderations", "without what requests add"],
      ["MODEL_API_KEY", "two words", "without spaces"],
      ["HEARTBEAT_MS", "0", "from 1"],
      ["MAX_REPLY_MS", "5s", "whole number"],
      ["LEASE_MS", "9", "from 100"],
      ["SHUTDOWN_GRACE_MS", "-1", "from 0"],
      ["ON_DISCONNECT", "Continue", "continue, cancel"],
      ["CONTINUE_REPLIES", "always", "never, prefix, continue_final_message, prompt"],
      ["READ_ONLY_PER_HOUR", "0", "from 1 to 1000000"],
      ["FULL_ACCESS_PER_HOUR", "1000001", "from 1 to 1000000"],
      ["LOG_FORMAT", "text", "json, pretty"],
      ["LOG_LEVEL", "verbose", "debug, info, warn, error"],
    ];
    for (const [variable, value, accepted] of cases) {
      const message = complaint([], { [variable]: value });
      assert.ok(message.startsWith(variable), message);
      assert.ok(message.includes(accepted), message);
    }
  });

  test("an invalid value is shown, unless it may contain a secret", () => {
    assert.match(complaint([], { PORT: "eighty" }), /not "eighty"/);
    assert.match(complaint([], { PORT: "x\u001b[31m\n" }), /not "x\\u001b\[31m\\n"/);
    assert.ok(complaint([], { PORT: "8".repeat(1_000) }).length < 200);
    for (const variable of [
      "JWT_SECRET",
      "DATABASE_URL",
      "REDIS_URL",
      "JWT_JWKS_URL",
      "JWT_PUBLIC_KEY",
      "MODEL_BASE_URL",
    ]) {
      assert.ok(!complaint([], { [variable]: "pass:word" }).includes("pass:word"), variable);
    }
  });

  test("a secret must have at least 32 bytes", () => {
    assert.equal(serve([], { JWT_SECRET: "é".repeat(16) }).jwtSecret, "é".repeat(16));
    assert.match(complaint([], { JWT_SECRET: "x".repeat(31) }), /^JWT_SECRET must be at least 32 bytes/);
  });

  test("only one way of verifying JWTs can be set", () => {
    const secret = { JWT_SECRET: "x".repeat(32) };
    const jwks = { JWT_JWKS_URL: "https://id.example/jwks" };
    const key = { JWT_PUBLIC_KEY: "{}" };
    for (const environment of [
      { ...secret, ...jwks },
      { ...secret, ...key },
      { ...jwks, ...key },
    ]) {
      assert.match(complaint([], environment), /JWT_SECRET, JWT_JWKS_URL and JWT_PUBLIC_KEY/);
    }
    assert.match(complaint(["--jwt-jwks-url=https://id.example/jwks"], secret), /Only one/);
  });

  test("metrics need a port of their own", () => {
    const environment = { PORT: "8080", METRICS_PORT: "8080" };
    assert.match(
      complaint([], environment),
      /^METRICS_PORT \(.+\) must be another port than PORT \(--port\)/,
    );
  });

  test("a database is memory:, sqlite:<path> or postgres://…, and nothing else", () => {
    const cases: [string, Settings["database"] | undefined][] = [
      ["memory:", { kind: "memory" }],
      ["sqlite:x.db", { kind: "sqlite", path: "x.db" }],
      ["sqlite:/var/x.db", { kind: "sqlite", path: "/var/x.db" }],
      ["sqlite:///var/x.db", { kind: "sqlite", path: "/var/x.db" }],
      ["sqlite:////var/x.db", { kind: "sqlite", path: "/var/x.db" }],
      ["postgres://a:b@h:1/c", { kind: "postgres", url: "postgres://a:b@h:1/c" }],
      ["postgresql://h/c?sslmode=require", { kind: "postgres", url: "postgresql://h/c?sslmode=require" }],
      ["sqlite:a b#1.db", { kind: "sqlite", path: "a b#1.db" }],
      ["sqlite://data/x.db", undefined], // data is a host to some, a folder to others
      ["sqlite:x.db?mode=ro", undefined],
      ["sqlite:~/x.db", undefined],
      ["sqlite:", undefined],
      ["sqlite::memory:", undefined],
      ["sqlite:file:x.db", undefined], // a URI to SQLite, which opens x.db; everyone else looks for file:x.db
      ["memory", undefined],
      ["memory:x", undefined],
      ["./x.db", undefined],
      ["mysql://h/c", undefined],
      ["postgres:c", undefined],
      ["postgres://h:port/c", undefined],
    ];
    for (const [text, database] of cases) {
      if (database) assert.deepEqual(serve(["--database", text]).database, database);
      else
        assert.match(complaint(["--database", text]), /^DATABASE_URL \(--database\) must be sqlite:/, text);
    }
  });

  test("a database or Redis whose password has special characters is refused with a line that says how to write them", () => {
    const addresses = {
      DATABASE_URL: "postgres://twins:a/b=@db/twins",
      REDIS_URL: "redis://:a/b=@cache:6380",
    };
    for (const [variable, address] of Object.entries(addresses)) {
      const line = complaint([], { [variable]: address });
      assert.match(line, /:<password>@<host>.*\(special characters percent-encoded\)/);
      assert.doesNotMatch(line, /a\/b/);
    }
  });

  test("a host may have brackets, a path lack its leading slash, and a path or an address end in one", () => {
    for (const [flag, text, key, value] of [
      ["--host", "::", "host", "::"],
      ["--host", "[::1]", "host", "::1"],
      ["--host", "localhost", "host", "localhost"],
      ["--base-path", "/x/y", "basePath", "/x/y"],
      ["--base-path", "x/y", "basePath", "/x/y"],
      ["--base-path", "/x/y/", "basePath", "/x/y"],
      ["--base-path", "/", "basePath", ""],
      ["--model-base-url", "http://127.0.0.1:1/v1/", "modelBaseUrl", "http://127.0.0.1:1/v1"],
    ] as const) {
      assert.equal(serve([flag, text])[key], value, `${flag} ${text}`);
    }
  });

  test("a base path must be plain segments", () => {
    for (const text of ["/x//y", "//x", "/x/../y", "/.", "/x?y", "/x#y", "/%78", "/x y", "/{id}"]) {
      assert.match(complaint(["--base-path", text]), /^BASE_PATH/, text);
    }
  });

  test("origins must be exact", () => {
    const origins = "https://app.example, http://localhost:3000";
    assert.deepEqual(serve(["--cors-origins", origins]).corsOrigins, [
      "https://app.example",
      "http://localhost:3000",
    ]);
    for (const text of [
      "*",
      "null",
      "app.example",
      "https://app.example/",
      "https://APP.example",
      "https://a.b:443",
      "https://a.b,",
    ]) {
      assert.match(complaint(["--cors-origins", text]), /^CORS_ORIGINS/, text);
    }
  });
});

describe("the command line", () => {
  test("unknown arguments are refused with a hint", () => {
    assert.match(complaint(["--prot", "1"]), /"--prot".*--help/);
    assert.match(complaint(["serve"]), /"serve".*--help/);
    assert.match(complaint(["-p", "1"]), /"-p".*--help/);
    assert.match(complaint(["--"]), /--help/);
    assert.match(complaint(["--sub", "alice"]), /--sub.*token/);
    assert.match(complaint(["--from", "sqlite:x.db"]), /--from.*copy/);
    assert.match(complaint(["copy", "--from", "sqlite:x.db", "--sub", "alice"]), /--sub.*token/);
    assert.match(complaint(["token", "token", "--sub", "alice"]), /"token"/);
  });

  test("a flag needs a value, and may be given only once", () => {
    assert.match(complaint(["--port"]), /--port needs a value/);
    assert.match(complaint(["--port", "--host", "x"]), /--port needs a value/);
    assert.match(complaint(["--port="]), /--port needs a value/);
    assert.match(complaint(["--port=1", "--port=2"]), /twice/);
    assert.match(complaint(["--help=x"]), /no value/);
  });

  test("--help and --version work whatever is wrong with the settings", () => {
    for (const args of [["--help"], ["-h"], ["token", "--help"], ["--port", "x", "--help"]]) {
      assert.deepEqual(readConfig(args, { PORT: "x" }), { command: "help" });
    }
    assert.deepEqual(readConfig(["--version"], { PORT: "x" }), { command: "version" });
  });

  test("token takes an owner and a lifetime, one hour by default", () => {
    const config = readConfig(["token", "--sub", "alice"], {});
    assert.deepEqual(config, {
      command: "token",
      isNew: false,
      settings: serve([]),
      sub: "alice",
      expiresInSeconds: 3_600,
      tokensPerDay: undefined,
    });
    const budget = readConfig(["token", "--sub=alice", "--tokens-per-day=20000"], {});
    assert.equal(budget.command === "token" && budget.tokensPerDay, 20_000);
    assert.match(
      complaint(["token", "--sub=alice", "--tokens-per-day=0"]),
      /^--tokens-per-day must be a whole/,
    );
    for (const [text, seconds] of Object.entries({ "90s": 90, "30m": 1_800, "2h": 7_200, "7d": 604_800 })) {
      const given = readConfig(["token", "--sub=alice", `--expires-in=${text}`], {});
      assert.equal(given.command === "token" && given.expiresInSeconds, seconds);
    }
    assert.match(complaint(["token"]), /^token needs --sub, the owner that the token is for/);
    assert.match(complaint(["token", "--sub", "a\nb"]), /--sub/);
    for (const text of ["1", "0h", "-1h", "1.5h", "1w", "h", "1 h", "99999999999h", "36501d"]) {
      assert.match(complaint(["token", "--sub", "alice", "--expires-in", text]), /--expires-in/, text);
    }
  });
});

describe("the commands key and chat", () => {
  test("key takes an owner, a scope, a label and the address of a server", () => {
    const settings = serve([]);
    assert.deepEqual(readConfig(["key", "--sub", "alice"], {}), {
      command: "key",
      settings,
      isNew: false,
      sub: "alice",
      scope: "full_access",
      name: "command line",
      requestsPerHour: null,
      tokensPerDay: null,
      tokensPerMonth: null,
      url: undefined,
    });
    const budgets = ["--tokens-per-day=20000", "--tokens-per-month=1000000000000"];
    const own = ["--name=laptop", "--requests-per-hour=1000", ...budgets];
    const args = ["key", "--sub=alice", "--scope=read_only", ...own, "--url=http://127.0.0.1:1/x/"];
    assert.deepEqual(readConfig(args, {}), {
      command: "key",
      settings,
      isNew: false,
      sub: "alice",
      scope: "read_only",
      name: "laptop",
      requestsPerHour: 1_000,
      tokensPerDay: 20_000,
      tokensPerMonth: 1e12,
      url: "http://127.0.0.1:1/x",
    });
    const limit = (text: string) => complaint(["key", "--sub=alice", "--requests-per-hour", text]);
    for (const text of ["0", "many", "1000001"])
      assert.match(limit(text), /^--requests-per-hour must be a whole number/);
    assert.match(complaint(["key"]), /^key needs --sub/);
    assert.match(
      complaint(["key", "--sub", "alice", "--scope", "admin"]),
      /--scope must be one of read_only,/,
    );
    assert.match(
      complaint(["key", "--sub", "alice", "--url", "localhost:8787"]),
      /--url must be the address/,
    );
    assert.match(complaint(["key", "alice"]), /Unknown argument "alice"/);
  });

  test("chat takes a twin, and nobody else", () => {
    const config = readConfig(["chat", "ada"], {});
    assert.deepEqual(config, {
      command: "chat",
      settings: serve([]),
      twinId: "ada",
      sub: "alice",
      url: undefined,
    });
    assert.match(complaint(["chat"]), /^chat needs the id of a twin/);
    assert.match(complaint(["chat", "ada", "bob"]), /Unknown argument "bob"/);
    assert.match(complaint(["chat", "ada", "--scope", "read_only"]), /--scope belongs to the command "key"/);
  });
});

describe("the command copy", () => {
  const from = ["copy", "--from", "sqlite:x.db"];
  const variables = { DATABASE_URL: "postgres://db/twins" };

  test("it copies a SQLite file into the PostgreSQL database of the settings", () => {
    const expected = { from: "x.db", to: "postgres://db/twins", settings: serve([], variables) };
    assert.deepEqual(readConfig(from, variables), { command: "copy", ...expected });
  });

  test("it takes no other kinds, and no default, which a forgotten variable would mean", () => {
    assert.match(complaint(["copy"], variables), /copy needs --from sqlite:<path>/);
    for (const other of ["memory:", "x.db", "postgres://db/twins"]) {
      assert.match(complaint(["copy", "--from", other], variables), /copy needs --from sqlite:<path>/);
    }
    for (const other of [[], ["--database", "memory:"], ["--database", "sqlite:y.db"]]) {
      assert.match(complaint([...from, ...other]), /copy needs DATABASE_URL \(--database\) to be postgres:/);
    }
  });
});

describe("the pages of a server", () => {
  const all = ["/", "/docs", "/widget.js"];
  for (const [when, args, paths] of [
    ["on this machine alone", [], all],
    ["if they are switched off", ["--playground", "off"], ["/", "/widget.js"]],
    ["on all addresses", ["--host", "0.0.0.0"], ["/", "/widget.js"]],
    ["on all addresses, if they are switched on", ["--host", "0.0.0.0", "--playground", "on"], all],
  ] as const) {
    test(`${when} are ${paths.join(", ")}`, () => {
      const own = Object.keys(pagesOf(serve(args))).filter((path) => !/^\/widget-/.test(path));
      assert.deepEqual(own, paths);
    });
  }
});

describe("documentation of the settings", () => {
  test("--help lists each flag, each variable, each default and what is accepted", () => {
    const text = usage("twin-service").replaceAll(/\s+/g, " ");
    for (const { variable, flag, about, fallback, otherwise = "none", expected } of Object.values(settings)) {
      const name = flag ? `--${flag}, ${variable}` : variable;
      const said = `${about.replaceAll("`", "")}; default: ${fallback || otherwise}; takes ${expected}`;
      assert.ok(text.includes(` ${name} ${said} `), variable);
    }
  });

  test("--help has three examples, and no line of more than 120 characters", () => {
    const text = usage("node --import tsx server.ts");
    const [, examples = ""] = /^Examples:\n(.+?)\n\n/ms.exec(text) ?? [];
    assert.equal(examples.split("\n").length, 3, text);
    for (const example of examples.trim().split("\n")) {
      const words = example.trim().split(" ").slice(4);
      assert.doesNotThrow(() => readConfig(words, {}), example);
    }
    assert.deepEqual(
      text.split("\n").filter((line) => line.length > 120),
      [],
    );
  });

  test("the documented table is the table of settings", async () => {
    const document = await readFile(new URL("../../docs/settings.md", import.meta.url), "utf8");
    const [, table] = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(document) ?? [];
    assert.equal(table?.trim(), settingsTable());
  });
});
