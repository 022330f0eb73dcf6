/** `alerts` of `sluice.yaml` (D53): which rules are evaluated, and who gets a message. */
import { duration } from "../../kernel/core/durations.ts";
import { plainText, type Schema } from "../../kernel/lib/schema.ts";
import { ALERT_NAMES, type AlertName, ruleOf } from "./rules.ts";

export type AlertReceiver =
	| { type: "webhook"; url: string; secret: string }
	| { type: "email"; smtp: SmtpServer; from: string; to: string[] }
	| { type: "ntfy"; url: string; token?: string }
	| { type: "slack" | "discord"; url: string };

export interface SmtpServer {
	host: string;
	port: number;
	/** `starttls`: nothing is sent before the connection is encrypted. */
	tls: "starttls" | "tls" | "off";
	user?: string;
	password?: string;
}

export interface AlertSettings {
	receivers: readonly AlertReceiver[];
	/** Rules that are evaluated, with their bounds. */
	rules: ReadonlyMap<AlertName, { threshold: number; forMs: number }>;
	repeatMs: number;
}

/** The settings in the file, with values of variables, and durations as numbers. */
export interface AlertsFile {
	receivers?: AlertReceiver[];
	rules?: Partial<Record<AlertName, { threshold?: number; for?: number; enabled?: boolean }>>;
	repeatEvery?: number;
}

const URL_OF = (description: string) =>
	({
		type: "string",
		format: "uri",
		maxLength: 2000,
		writeOnly: true,
		description,
		"x-message": "must be an http or https URL.",
	}) as const satisfies Schema;

const SECRET = { type: "string", minLength: 1, maxLength: 1000, writeOnly: true } as const satisfies Schema;

const MAIL_ADDRESS = {
	type: "string",
	maxLength: 320,
	pattern: "^[^\\s@<>,;]+@[^\\s@<>,;]+$",
	"x-message": "must be an address such as ops@example.com.",
} as const satisfies Schema;

function receiver(type: string, required: readonly string[], properties: Record<string, Schema>): Schema {
	return {
		type: "object",
		additionalProperties: false,
		required: ["type", ...required],
		properties: { type: { const: type }, ...properties },
	};
}

const SMTP_PORT = 587;

const RECEIVER_SCHEMA: Schema = {
	oneOf: [
		receiver("webhook", ["url", "secret"], {
			url: URL_OF("Gets each message as JSON, signed as webhooks of jobs are."),
			secret: {
				...SECRET,
				pattern: "^whsec_[A-Za-z0-9+/]{32,}={0,2}$",
				description: "Key of the signature: whsec_ and 24 bytes or more as base64.",
				"x-message": 'must be whsec_ and 24 bytes or more as base64: echo "whsec_$(openssl rand -base64 32)".',
			},
		}),
		receiver("email", ["smtp", "from", "to"], {
			smtp: {
				type: "object",
				additionalProperties: false,
				required: ["host"],
				properties: {
					host: plainText(1, 253),
					port: { type: "integer", minimum: 1, maximum: 65_535, default: SMTP_PORT },
					tls: {
						enum: ["starttls", "tls", "off"],
						default: "starttls",
						description: "tls: encrypted from the start, as on port 465; off: for a relay on this machine.",
					},
					user: plainText(1, 320),
					password: SECRET,
				},
				description: "Server that accepts the mail.",
			},
			from: MAIL_ADDRESS,
			to: {
				type: "array",
				minItems: 1,
				maxItems: 20,
				items: MAIL_ADDRESS,
				"x-message": "must be a list of 1 to 20 addresses.",
			},
		}),
		receiver("ntfy", ["url"], {
			url: URL_OF("Address of the topic, such as https://ntfy.sh/my-topic."),
			token: { ...SECRET, pattern: "^\\S+$", description: "Access token." },
		}),
		receiver("slack", ["url"], { url: URL_OF("Address of an incoming webhook.") }),
		receiver("discord", ["url"], { url: URL_OF("Address of a webhook of a channel.") }),
	],
};

const DAY = 86_400;
const REPEAT = 4 * 3600;

/** Properties by name, and their defaults as descriptions. */
const RULES: Record<string, Schema> = Object.fromEntries(
	ALERT_NAMES.map((name) => {
		const { threshold, unit, forSeconds, comparison } = ruleOf(name);
		const rule: Schema = {
			type: "object",
			additionalProperties: false,
			properties: {
				threshold: {
					type: "number",
					minimum: 0,
					maximum: 1e9,
					default: threshold,
					...(unit === "seconds" && { "x-unit": unit }),
				},
				for: duration("seconds", [0, DAY], { example: "5m", default: forSeconds }),
				enabled: { type: "boolean", default: true },
			},
			description: `Active while the value is ${comparison === ">" ? "over" : "under"} \`threshold\`.`,
			"x-message": "must be an object with threshold, for and enabled.",
		};
		return [name, rule];
	}),
);

export const ALERTS_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		receivers: {
			type: "array",
			maxItems: 20,
			items: RECEIVER_SCHEMA,
			description: "Who gets a message when an alert fires, while it lasts, and when it is resolved.",
			"x-message": "must be a list of at most 20 receivers, each with a type.",
		},
		repeatEvery: duration("seconds", [60, 30 * DAY], {
			example: "4h",
			default: REPEAT,
			description: "Time between two messages about an alert that lasts.",
		}),
		rules: {
			type: "object",
			additionalProperties: false,
			properties: RULES,
			description: "Changes of rules, by name; all others are evaluated with their defaults.",
		},
	},
	description: "Rules that the service evaluates, and who is notified.",
	"x-message": "must be an object with receivers, repeatEvery and rules.",
} as const satisfies Schema;

export function alertSettings({ receivers = [], rules = {}, repeatEvery = REPEAT }: AlertsFile): AlertSettings {
	const bounds = ALERT_NAMES.map((name) => {
		const { threshold, forSeconds } = ruleOf(name);
		return { name, threshold, for: forSeconds, enabled: true, ...rules[name] };
	});
	return {
		receivers: receivers.map((each) =>
			each.type === "email" ? { ...each, smtp: { ...SMTP_DEFAULTS, ...each.smtp } } : each,
		),
		rules: new Map(
			bounds
				.filter(({ enabled }) => enabled)
				.map(({ name, threshold, for: seconds }) => [name, { threshold, forMs: seconds * 1000 }]),
		),
		repeatMs: repeatEvery * 1000,
	};
}

const SMTP_DEFAULTS = { port: SMTP_PORT, tls: "starttls" } as const;

/** Returns the names of receivers for lists, without parts that may be secret: number, type and host. */
export function receiverNames(receivers: readonly AlertReceiver[]): string[] {
	return receivers.map((each, index) => {
		const host = each.type === "email" ? each.smtp.host : new URL(each.url).host;
		return `${index + 1} ${each.type} ${host}`;
	});
}
