/** What workers send and what others read of it: reports, OpenAI streams, metrics, log lines. */
import fc from "fast-check";
import { newHistogram, observe } from "../../../src/kernel/lib/histogram.ts";
import { eventText } from "../../../src/modules/openai/event-text.ts";
import { failureBody } from "../../../src/modules/openai/error-form.ts";
import { failureInOutput, failureOfError } from "../../../src/modules/openai/failures.ts";
import { openaiInput, outputOf, resultAsChunks, singleResult } from "../../../src/modules/openai/translation.ts";
import { stringOf } from "../../../src/kernel/lib/json/json-text.ts";
import { WINDOW_MS, rateWindow } from "../../../src/kernel/core/endpoints/rate-window.ts";
import { ApiError } from "../../../src/kernel/core/errors.ts";
import { type Report, REPORT_MEMBERS } from "../../../src/kernel/core/jobs/report.ts";
import { eventBus } from "../../../src/kernel/events.ts";
import { scanBytes, type ScannedBody } from "../../../src/kernel/http/exchange/body.ts";
import { exposition } from "../../../src/modules/metrics/families/exposition.ts";
import { reportOf } from "../../../src/kernel/http/worker/worker-api.ts";
import { log } from "../../../src/kernel/log.ts";
import { bytesOf, jsonBytes, jsonText, jsonValue, natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

function parsed(text: string): { value: any } | undefined {
	try {
		return { value: JSON.parse(text) };
	} catch {
		return undefined;
	}
}

/** Undefined for a return that is not valid (D54). */
function reportOrRefusal(body: ScannedBody): Report | undefined {
	try {
		return reportOf(body);
	} catch (error) {
		if (error instanceof ApiError) return undefined;
		throw error;
	}
}

export const REPORT = target({
	name: "worker-reports",
	sources: ["kernel/core/jobs/report.ts", "kernel/http/worker/worker-api.ts"],
	cases: fc.oneof(
		jsonBytes,
		fc
			.dictionary(fc.constantFrom(...REPORT_MEMBERS), fc.oneof(jsonValue, fc.constantFrom("IN_PROGRESS", true, null)), {
				maxKeys: 4,
			})
			.map((value) => Buffer.from(JSON.stringify(value)).toString("latin1")),
	),
	check(text) {
		const body = scanBytes(bytesOf(text), { members: REPORT_MEMBERS });
		const report = reportOrRefusal(body);
		if (!body.scan.ok || body.scan.kind !== "object") return;
		const value = JSON.parse(bytesOf(text).toString("utf8")) as Record<string, unknown>;
		const output = Object.hasOwn(value, "output") ? value["output"] : undefined;
		if (Object.hasOwn(value, "return") && value["return"] !== null)
			return must(report === undefined || report.kind === "return", "a return is something else");
		if (report === undefined) return must(false, "a result was refused");
		if (value["status"] === "IN_PROGRESS") return same("kind", report.kind, "progress");
		must(report.kind === "end", "no end");
		const { error } = value;
		same("on", report.on, error === undefined || error === null ? "complete" : "fail");
		same("output", report.output && JSON.parse(stringOf(report.output)), output);
		same("restart", report.restart, value["stopPod"] === true);
		if (report.on === "fail")
			same("error", typeof error === "string" ? report.error : JSON.parse(report.error!), error);
	},
});

const pythonText = fc.oneof(
	jsonValue.map((value) => JSON.stringify(value).replaceAll('"', "'").replaceAll("null", "None")),
	fc
		.array(
			fc.constantFrom(
				"{",
				"}",
				"[",
				"]",
				"(",
				")",
				"'",
				'"',
				"\\",
				"\\x41",
				"\\U0010ffff",
				"\\ud800",
				":",
				",",
				"None",
				"True",
				"1e5",
				" ",
				"a",
				"'error_message'",
				"'code'",
			),
			{ maxLength: 20 },
		)
		.map((parts) => parts.join("")),
);

export const OPENAI_ERROR = target({
	name: "openai-errors",
	sources: ["modules/openai/failures.ts", "modules/openai/python-literal.ts", "modules/openai/translation.ts"],
	cases: fc.oneof(
		pythonText,
		jsonText,
		jsonText.map((error) => `{"object":"error","message":"m","code":${error}}`),
		jsonText.map((error) => `{"error":${error}}`),
		oddText,
		fc.tuple(fc.nat(999), jsonText).map(([status, body]) => `vLLM returned HTTP ${status}: ${body}`),
	),
	check(text) {
		for (const failure of [failureOfError(text), failureInOutput(text)]) {
			if (!failure) continue;
			must(
				Number.isInteger(failure.status) && failure.status >= 400 && failure.status <= 599,
				`status ${failure.status}`,
			);
			const { error } = JSON.parse(failureBody(failure));
			must(typeof error.message === "string" && typeof error.type === "string", JSON.stringify(error));
		}
		// Texts of workers come from UTF-8, which has no lone surrogates.
		const value = text.isWellFormed() ? parsed(text) : undefined;
		if (!value) return;
		const trimmed = text.trim();
		const input = JSON.parse(stringOf(openaiInput("/v1/x", text)));
		same("input", input, { openai_route: "/v1/x", openai_input: value.value });
		const list = Array.isArray(value.value) ? (value.value as unknown[]) : undefined;
		for (const form of [trimmed, [Buffer.from(trimmed)]]) {
			const steps = singleResult(form);
			let step = steps.next();
			while (!step.done) step = steps.next();
			const single = step.value;
			same(
				"single",
				single === undefined ? [] : [JSON.parse(stringOf(single))],
				list === undefined ? [value.value] : list.length > 1 ? [list] : list,
			);
			same(
				"chunks",
				[...resultAsChunks(form)].flatMap((each) => (each === undefined ? [] : [JSON.parse(each) as unknown])),
				list ?? [value.value],
			);
		}
		same("output", JSON.parse(outputOf(`{"output":${text},"metrics":{}}`)), value.value);
	},
});

/** Data of the events of a stream, as a browser reads it. */
function eventsIn(stream: string): string[] {
	return stream
		.split(/\r\n\r\n|\n\n|\r\r/)
		.map((block) =>
			block
				.split(/\r\n|\n|\r/)
				.flatMap((line) => (line.startsWith("data:") ? [line.slice(5).replace(/^ /, "")] : []))
				.join("\n"),
		)
		.filter((data) => data !== "");
}

export const OPENAI_STREAM = target({
	name: "openai-streams",
	sources: ["modules/openai/event-text.ts"],
	cases: fc.record({
		outputs: fc.array(
			fc.oneof(
				jsonText,
				fc
					.array(fc.constantFrom("data: ", "{}", "[DONE]", "\n", "\r\n", "\r", ":", "é"), {
						maxLength: 6,
					})
					.map((parts) => JSON.stringify(parts.join(""))),
			),
			{ maxLength: 6 },
		),
		fails: fc.boolean(),
	}),
	check({ outputs, fails }) {
		// A stored output was decoded from UTF-8, so it has no lone surrogates.
		const valid = outputs.map((output) => output.trim().toWellFormed()).filter((output) => parsed(output));
		const text = eventText();
		let stream = "";
		for (const output of valid) stream += text.chunk(output) + text.comment();
		stream += fails ? text.fail('{"error":{}}') : text.end();
		const plain = valid.every((output) => !output.startsWith('"'));
		const events = eventsIn(stream);
		if (fails) same("last event", events.at(-1), '{"error":{}}');
		if (!plain) return;
		const values = valid.flatMap((output) => {
			const { value } = parsed(output)!;
			return Array.isArray(value) ? (value as unknown[]) : [value as unknown];
		});
		same(
			"events",
			events.slice(0, -1).map((data) => JSON.parse(data) as unknown),
			values,
		);
		if (!fails) same("end", events.at(-1), "[DONE]");
	},
});

export const RATE_WINDOW = target({
	name: "rate-window",
	sources: ["kernel/core/endpoints/rate-window.ts"],
	cases: fc.array(
		fc.record({
			step: fc.oneof(fc.nat(12_000), fc.constantFrom(0, 1, 9999, 10_000, -5000)),
			add: fc.boolean(),
			limit: fc.nat(20),
		}),
		{ maxLength: 60 },
	),
	check(steps) {
		const window = rateWindow();
		const times: number[] = [];
		let [now, real] = [1_800_000_000_000, 0];
		for (const { step, add, limit: any } of steps) {
			const limit = natural(any);
			now += Math.trunc(step) % 1_000_000;
			// A clock that went back stands still.
			real += Math.max(0, Math.trunc(step) % 1_000_000);
			const held = times.filter((time) => time > real - WINDOW_MS);
			same("used", window.used(now), held.length);
			const free = held.length < limit ? 0 : limit === 0 ? WINDOW_MS : held[held.length - limit]! + WINDOW_MS - real;
			same("wait", window.wait(limit, now), free);
			if (!add) continue;
			window.add(now);
			times.push(real);
		}
	},
});

/** Names, labels and values, read as Prometheus does. */
function samplesIn(text: string): [string, Record<string, string>, string][] {
	return text
		.trimEnd()
		.split("\n")
		.filter((line) => !line.startsWith("#"))
		.map((line) => {
			const found = /^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\[\\"n])*",?)*)\})? (\S+)$/.exec(line);
			must(found !== null, `no sample: ${line}`);
			const labels = [...(found[2] ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(
				([, name, value]) =>
					[name!, value!.replaceAll(/\\(.)/g, (_, mark: string) => (mark === "n" ? "\n" : mark))] as const,
			);
			return [found[1]!, Object.fromEntries(labels), found[3]!];
		});
}

export const PROMETHEUS = target({
	name: "prometheus",
	sources: ["modules/metrics/families/exposition.ts"],
	cases: fc.array(
		fc.record({
			endpoint: fc.oneof(oddText, fc.constantFrom('a"}', "\\", "\\n", "a\nb 1")),
			value: fc.integer(),
		}),
		{ maxLength: 5 },
	),
	check(samples) {
		const histogram = newHistogram();
		for (const { value } of samples) observe(histogram, Math.abs(value));
		const text = exposition([
			{
				name: "a_total",
				type: "counter",
				labels: ["endpoint"],
				help: "A.",
				samples: samples.map(({ endpoint, value }) => [[endpoint], value] as const),
			},
			{
				name: "b_seconds",
				type: "histogram",
				labels: ["endpoint"],
				help: "B.",
				samples: [[[samples[0]?.endpoint ?? ""], histogram]],
			},
		]);
		const read = samplesIn(text);
		same(
			"samples",
			read.slice(0, samples.length),
			samples.map(({ endpoint, value }) => ["a_total", { endpoint }, String(value)]),
		);
		same("count", read.at(-1)![2], String(samples.length));
	},
});

export const LOG = target({
	name: "log-lines",
	sources: ["kernel/log.ts"],
	cases: fc.record({
		text: fc.oneof(
			oddText,
			fc.constantFrom("\x1b[31m", "a\n2026-01-01T00:00:00.000Z forged", "\r\n\r\n", "\x9b2J", "\u2028x", "\x7f"),
		),
		format: fc.constantFrom("text", "json"),
	}),
	check({ text, format }) {
		const events = eventBus();
		const written: string[] = [];
		log({
			events,
			clock: { now: () => 0, wall: () => 0, sleep: async () => {} } as any,
			write: (line) => void written.push(line),
			format: format === "json" ? "json" : "text",
			level: "debug",
		});
		const worker = { endpoint: "ep", worker: "w" };
		events.emit("worker.unhealthy", { ...worker, reason: text });
		events.emit("worker.exited", { ...worker, code: 1, signal: undefined, lastOutput: text });
		events.emit("worker.failed", { endpoint: "ep", reason: text, retryMs: 1000 });
		events.emit("webhook.failed", {
			endpoint: "ep",
			id: "j",
			delivery: "d",
			host: "a.test",
			reason: text,
			retryMs: undefined,
		});
		events.emit("request.failed", {
			method: "GET",
			path: `/${text}`,
			status: 500,
			requestId: "r",
			error: new Error(text),
		});
		events.emit("fault", { where: "x", error: text });
		same("lines", written.length, 6);
		for (const line of written) {
			must(line.endsWith("\n"), "no end of line");
			for (const part of line.slice(0, -1).split("\n").slice(1))
				must(format !== "json" && /^ {4}/.test(part), `a line of its own: ${JSON.stringify(part)}`);
			must(
				// oxlint-disable-next-line no-control-regex
				format === "json" || !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(line),
				`control characters: ${JSON.stringify(line)}`,
			);
			if (format === "json") JSON.parse(line);
		}
	},
});
