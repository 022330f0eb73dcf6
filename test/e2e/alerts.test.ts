/**
 * Alerts of a service as a process (D53): real faults fire and are resolved, and every kind of receiver gets a message
 * that it can read.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { expect, it, type TestContext } from "vitest";
import { smtpSink } from "../support/smtp-sink.ts";
import { call, KEY, type ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { webhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { sluice } from "./command.ts";
import { run, site, WORKER } from "./site.ts";

const SECRETS = {
	ALERT_SECRET: `whsec_${Buffer.alloc(32, 9).toString("base64")}`,
	SMTP_PASSWORD: "word-of-the-mail-account",
	NTFY_TOKEN: "tk_token-of-the-topic",
	SLACK_PATH: "services/T0/B0/path-of-slack",
	DISCORD_PATH: "api/webhooks/1/path-of-discord",
};

interface Shown {
	name: string;
	status: string;
	labels: Record<string, string>;
	summary: string;
	runbook: string;
	notifiedAt?: string;
}

/** All alerts that a webhook has got so far; throws for a wrong signature. */
function alertsOf({ received }: WebhookReceiver): Shown[] {
	const webhook = new Webhook(SECRETS.ALERT_SECRET);
	return received
		.filter(({ path }) => path === "/hook")
		.flatMap(({ body, headers }) => {
			const message: any = webhook.verify(body.toString(), headers as Record<string, string>);
			return message.alerts as Shown[];
		});
}

async function arrived(receiver: WebhookReceiver, name: string, endpoint: string, status: string): Promise<Shown> {
	return until(`${name} of ${endpoint} is ${status}`, () => {
		const last = alertsOf(receiver).findLast((each) => each.name === name && each.labels["endpoint"] === endpoint);
		return last?.status === status && last;
	});
}

async function bed(test: TestContext) {
	const place = site(test);
	const fixed = join(place.folder.path, "fixed");
	// A receiver that answers with what it got.
	const receiver = await webhookReceiver({
		reply: ({ path, headers }) =>
			path !== "/refuses" ? 200 : (response) => response.writeHead(403).end(String(headers.authorization)),
	});
	test.onTestFinished(receiver.end);
	const smtp = await smtpSink(place.folder.path, { user: "sluice", password: SECRETS.SMTP_PASSWORD });
	test.onTestFinished(smtp.end);
	const receivers = [
		{ type: "webhook", url: `${receiver.url}/hook`, secret: "${ALERT_SECRET}" },
		{
			type: "email",
			smtp: { host: "localhost", port: smtp.port, user: "sluice", password: "${SMTP_PASSWORD}" },
			from: "sluice@example.com",
			to: ["ops@example.com", "dev@example.com"],
		},
		{ type: "ntfy", url: `${receiver.url}/topic`, token: "${NTFY_TOKEN}" },
		{ type: "slack", url: "${SLACK_URL}" },
		{ type: "discord", url: "${DISCORD_URL}" },
	];
	const free = { limits: "off" };
	const endpoints = {
		waits: free,
		late: free,
		fails: place.launched({ ...free, workersMin: 1 }),
		crashes: place.launched({
			workersMin: 1,
			launcher: { type: "process", command: ["sh", "-c", `test -e ${fixed} && exec ${WORKER.join(" ")}; exit 1`] },
		}),
	};
	const serve = (more: readonly object[] = []): Promise<ServiceProcess> =>
		place.serve({
			endpoints,
			env: {
				...SECRETS,
				NODE_EXTRA_CA_CERTS: smtp.authority,
				SLACK_URL: `${receiver.url}/${SECRETS.SLACK_PATH}`,
				DISCORD_URL: `${receiver.url}/${SECRETS.DISCORD_PATH}`,
			},
			file: {
				alerts: {
					receivers: [...receivers, ...more],
					rules: {
						SluiceOldestWait: { threshold: 1, for: 0 },
						SluiceCrashLoop: { for: 0 },
						SluiceFailures: { for: "0s" },
						SluiceNoWorkers: { enabled: false },
					},
				},
			},
		});
	const command = (service: ServiceProcess, ...args: string[]) =>
		sluice(test, ["alerts", ...args], {
			cwd: place.folder.path,
			env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
		});
	return { receiver, smtp, fixed, serve, command };
}

it("D53: three faults fire and are resolved; every receiver gets them; a silence holds messages back", {
	timeout: 240_000,
}, async (test) => {
	const { receiver, smtp, fixed, serve, command } = await bed(test);
	const service = await serve();
	const waiting = await run(service, "waits", {});
	for (let n = 0; n < 6; n += 1) await run(service, "fails", { fail: "planted" });
	const faults = [
		["SluiceOldestWait", "waits"],
		["SluiceCrashLoop", "crashes"],
		["SluiceFailures", "fails"],
	] as const;
	for (const [name, endpoint] of faults) await arrived(receiver, name, endpoint, "firing");
	const textOn = (path: string): string =>
		receiver.received.flatMap((each) => (each.path === path ? [each.body.toString()] : [])).join("\n");
	await until("all receivers have all", () =>
		faults.every(([name]) =>
			[
				smtp.mails.map(({ text }) => text).join("\n"),
				...["topic", SECRETS.SLACK_PATH, SECRETS.DISCORD_PATH].map((path) => textOn(`/${path}`)),
			].every((text) => text.includes(name)),
		),
	);
	expect(smtp.mails[0]).toMatchObject({
		from: "sluice@example.com",
		to: ["ops@example.com", "dev@example.com"],
		text: expect.stringMatching(/^Subject: \[Sluice\] Sluice/m),
	});
	const ntfy = receiver.received.find(({ path }) => path === "/topic")!;
	expect(ntfy.headers).toMatchObject({
		authorization: `Bearer ${SECRETS.NTFY_TOKEN}`,
		title: expect.stringMatching(/^Sluice/),
		priority: expect.stringMatching(/^[35]$/),
	});
	expect(JSON.parse(textOn(`/${SECRETS.DISCORD_PATH}`).split("\n")[0]!).allowed_mentions).toEqual({ parse: [] });

	const { runbook } = await arrived(receiver, "SluiceCrashLoop", "crashes", "firing");
	expect(runbook).toBe(`${service.url}/docs/runbooks/crash-loop/`);
	const listed = await command(service, "list");
	for (const [name] of faults) expect(listed.stdout).toContain(name);

	await command(service, "silence", "SluiceOldestWait", "--endpoint", "late", "--for", "1h", "--comment", "moving");
	await run(service, "late", {});
	await call(service.url, `/v2/waits/cancel/${waiting}`, { method: "POST" });
	await arrived(receiver, "SluiceOldestWait", "waits", "resolved");
	const ofLate = await until("the silenced alert fires", async () => {
		const { json } = await call(service.url, "/v1/alerts");
		return json.alerts.find((each: Shown) => each.labels["endpoint"] === "late");
	});
	expect(ofLate.silencedUntil).toEqual(expect.any(String));
	expect((await command(service, "list", "-o", "wide")).stdout).toMatch(
		/Silenced: SluiceOldestWait of late .*\(moving\)/,
	);
	expect(alertsOf(receiver).some(({ labels }) => labels["endpoint"] === "late")).toBe(false);
	await command(service, "unsilence", "SluiceOldestWait", "--endpoint", "late");
	await arrived(receiver, "SluiceOldestWait", "late", "firing");
	expect((await call(service.url, "/v1/audit")).json.entries).toMatchObject([
		{ action: "endSilence", subject: ["SluiceOldestWait"] },
		{ action: "silenceAlert", subject: ["SluiceOldestWait"] },
	]);

	writeFileSync(fixed, "");
	await call(service.url, "/v1/endpoints/crashes/workers/start", { method: "POST" });
	for (let n = 0; n < 130; n += 1) await run(service, "fails", {});
	await arrived(receiver, "SluiceCrashLoop", "crashes", "resolved");
	await arrived(receiver, "SluiceFailures", "fails", "resolved");
	const seen = [service.stderr(), (await call(service.url, "/v1/alerts")).text, listed.stdout].join("\n");
	expect(seen).toContain("SluiceCrashLoop");
	for (const secret of Object.values(SECRETS)) expect(seen).not.toContain(secret);
});

it("D53: after a kill -9 what holds is sent again; a test message shows who gets none and why, without secrets", {
	timeout: 180_000,
}, async (test) => {
	const { receiver, fixed, serve, command } = await bed(test);
	const killed = await serve();
	const tested = await command(killed, "test");
	expect(tested).toMatchObject({
		code: 0,
		stdout: expect.stringMatching(/1 webhook .*received\n(?:.*received\n){4}$/),
	});
	await run(killed, "waits", {});
	await arrived(receiver, "SluiceOldestWait", "waits", "firing");
	await arrived(receiver, "SluiceCrashLoop", "crashes", "firing");
	await until("both are sent to all", async () => {
		const { alerts } = (await call(killed.url, "/v1/alerts")).json;
		return alerts.length === 2 && alerts.every(({ notifiedAt }: Shown) => notifiedAt);
	});
	await killed.end("SIGKILL");
	const before = alertsOf(receiver).length;

	writeFileSync(fixed, "");
	const next = await serve([{ type: "ntfy", url: `${receiver.url}/refuses`, token: "${NTFY_TOKEN}" }]);
	await until("it is sent again", () => alertsOf(receiver).length > before);
	expect(alertsOf(receiver).slice(before)).toMatchObject([
		{ name: "SluiceOldestWait", labels: { endpoint: "waits" }, status: "firing" },
	]);
	expect((await call(next.url, "/v1/alerts")).json.alerts).toMatchObject([{ name: "SluiceOldestWait" }]);
	const failed = await command(next, "test");
	expect(failed).toMatchObject({ code: 1, stdout: expect.stringMatching(/6 ntfy .*answered 403: Bearer …/) });
	await until("the log has the failure", () => next.stderr().includes("was not notified of alerts"));
	expect(next.stderr() + failed.stdout).not.toContain(SECRETS.NTFY_TOKEN);
});
