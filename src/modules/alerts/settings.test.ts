/** `alerts` of `sluice.yaml`: defaults, variables, and what is refused with its bound (D53). */
import { expect, it } from "vitest";
import { config, problems, type Setup } from "../../../test/support/load-config.ts";
import { ALERT_NAMES } from "./rules.ts";
import type { AlertSettings } from "./settings.ts";

const alertsIn = (setup: Setup) => config(setup).modules["alerts"] as AlertSettings | undefined;

const SECRET = `whsec_${Buffer.alloc(32).toString("base64")}`;
const setup = (alerts: unknown, env: Record<string, string> = {}) => ({
	env,
	files: { "/srv/sluice.yaml": JSON.stringify({ alerts }) },
});

it("D53: without alerts nothing is evaluated; with them all rules, unless they are changed", () => {
	expect(alertsIn({})).toBeUndefined();
	const bare = alertsIn(setup({}))!;
	expect([...bare.rules.keys()]).toEqual(ALERT_NAMES);
	expect(bare).toMatchObject({ receivers: [], repeatMs: 4 * 3_600_000 });
	expect(bare.rules.get("SluiceOldestWait")).toEqual({ threshold: 300, forMs: 60_000 });
	const changed = alertsIn(
		setup({
			repeatEvery: "30m",
			rules: { SluiceOldestWait: { threshold: 60, for: "2m" }, SluiceSwaps: { enabled: false } },
		}),
	)!;
	expect(changed.rules.get("SluiceOldestWait")).toEqual({ threshold: 60, forMs: 120_000 });
	expect([changed.rules.has("SluiceSwaps"), changed.repeatMs]).toEqual([false, 1_800_000]);
});

it("D53: a member that is empty in the file has its default, not the value 0 or off", () => {
	const email = { type: "email", from: "a@b.c", to: ["d@e.f"] };
	const smtp = { host: "mail", port: 587, tls: "starttls" };
	expect(alertsIn(setup({ receivers: null, rules: null, repeatEvery: null }))).toEqual(alertsIn(setup({})));
	const { receivers, rules } = alertsIn(
		setup({
			receivers: [{ ...email, smtp: { host: "mail", port: null, tls: null, user: null } }],
			rules: { SluiceSwaps: { threshold: null, for: null, enabled: null }, SluiceOldestWait: null },
		}),
	)!;
	expect(receivers).toEqual([{ ...email, smtp }]);
	expect(rules).toEqual(alertsIn(setup({}))!.rules);
});

it("D53: secrets come from variables, which workers do not get", () => {
	const given = setup(
		{
			receivers: [
				{ type: "slack", url: "${SLACK}" },
				{ type: "email", smtp: { host: "mail", password: "${MAIL}" }, from: "a@b.c", to: ["d@e.f"] },
			],
		},
		{ SLACK: "https://hooks.slack.com/services/x", MAIL: "word" },
	);
	const loaded = config(given);
	expect(alertsIn(given)!.receivers).toEqual([
		{ type: "slack", url: "https://hooks.slack.com/services/x" },
		{
			type: "email",
			smtp: { host: "mail", port: 587, tls: "starttls", password: "word" },
			from: "a@b.c",
			to: ["d@e.f"],
		},
	]);
	expect(loaded.secretVariables).toEqual(["SLACK", "MAIL"]);
	expect(problems({ ...given, env: { MAIL: "word" } })).toEqual([
		"/srv/sluice.yaml: alerts.receivers.0.url: the variable SLACK is not set.",
	]);
});

it.each<[object, string]>([
	[{ receivers: [{ type: "pager" }] }, "receivers.0.type must be webhook, email, ntfy, slack or discord."],
	[{ receivers: [{ type: "webhook", url: "https://a.b/c", secret: "whsec_dG9vIHNob3J0" }] }, "24 bytes or more"],
	[{ receivers: [{ type: "webhook", url: "ftp://a", secret: SECRET }] }, "url must be an http or https URL."],
	[{ receivers: [{ type: "ntfy" }] }, "url is missing; it must be an http or https URL."],
	[{ receivers: [{ type: "email", smtp: { host: "m" }, from: "a b", to: ["c@d"] }] }, "from must be an address"],
	[{ rules: { SluiceOldestWeight: {} } }, "SluiceOldestWeight"],
	[{ rules: { SluiceSwaps: { threshold: -1 } } }, "threshold must be"],
	[{ rules: { SluiceSwaps: { for: "2d" } } }, "for must be"],
	[{ repeatEvery: "1s" }, "repeatEvery must be"],
])("D53: %j is refused: %s", (alerts, message) => {
	const found = problems(setup(alerts));
	expect(found).toHaveLength(1);
	expect(found[0]).toMatch(/^\/srv\/sluice\.yaml: alerts\./);
	expect(found[0]).toContain(message);
});
