/** One job on the server: its requests, its cancellation, what is left when it has ended. */
import { JobReturn } from "../job-return.ts";
import type { Clock } from "../clock.ts";
import type { RawJson } from "../raw-json.ts";
import { StreamOutput } from "../stream-output.ts";
import type { Context, Job } from "../types.ts";
import { type AnswerOptions, parseJson, readOutput, tooLarge } from "./answer.ts";
import { cancelJob } from "./cancel.ts";
import type { Server } from "./connection.ts";
import { type Exchange, readStart } from "./exchange.ts";
import { type Send, sendUploads, withFiles } from "./files.ts";
import type { Call, Mapping } from "./mapping.ts";
import { inList, type JobMapping, OPENAI_ERROR } from "./openai.ts";
import { lossOf, type SendOptions, sendUntilAnswered } from "./outcome.ts";
import { lostSubmission, pollUntilDone } from "./poll.ts";
import { createProgress, pollProgress } from "./progress.ts";
import type { Readiness } from "./readiness.ts";
import { type JobValues, jobValues, type PreparedRequest, prepareRequest } from "./request.ts";
import { callServer } from "./server-call.ts";
import { heardBody, type Silence, watchSilence } from "./silence.ts";
import { chunksOf } from "./stream.ts";
import { fill, fillPointer, type Names } from "./template.ts";

export interface JobHandlerOptions {
	mapping: Mapping;
	server: Server;
	/** In templates. Undefined without a port. */
	port: number | undefined;
	/** Variables for headers. */
	env: Readonly<Record<string, string | undefined>>;
	readiness: Readiness;
	/** Ends the server if it is the worker's own. The worker ends with it. */
	kill: (reason: string) => void;
	clock: Clock;
	/** 0 to below 1. */
	random: () => number;
	/** Random ids, such as boundaries of forms. */
	randomId: () => string;
	/** Where temporary files are. Default: that of the system. */
	folder?: string | undefined;
}

/** `mapping`: that of the job. */
export interface SessionOptions extends JobHandlerOptions, JobMapping {
	job: Job;
	context: Context;
	/** Whether the server has no other job of this worker. */
	isAlone: () => boolean;
}

/** The output, or the chunks of a stream and then its output. */
export type JobOutput = RawJson | AsyncGenerator<RawJson | StreamOutput, void>;

export class JobSession {
	readonly #options: SessionOptions;
	readonly #values: JobValues;
	readonly #output: AnswerOptions;
	/** Closes the connections of the job. */
	readonly #closing = new AbortController();
	readonly #ended = new AbortController();
	readonly #submitted = Promise.withResolvers<void>();
	readonly #release: () => void;
	readonly #onStop = (): void => this.#cancel("the service stopped it");
	readonly #progress: ((value: unknown) => void) | undefined;
	#names: Names;
	/** With what is freed when the job has ended. */
	readonly #requests: PreparedRequest[] = [];
	#silence: Silence | undefined;
	/** Sentence about a server that sends nothing. */
	#silent: string | undefined;
	/** The server may have the job. */
	#isSent = false;
	/** With true if the server had ended the job before its connections were closed. */
	#cancelled: Promise<boolean> | undefined;

	constructor(options: SessionOptions) {
		const { job, mapping, openai, env, port, readiness, context, clock, folder } = options;
		this.#options = options;
		this.#values = { ...jobValues(job, { mapping, env, port }), ...openai };
		this.#names = this.#values.names;
		this.#output = { answer: mapping.answer, failed: mapping.failed, folder };
		this.#release = readiness.opened();
		if (mapping.progress)
			this.#progress = createProgress({ progress: mapping.progress, report: context.progress, clock });
		context.signal.addEventListener("abort", this.#onStop);
	}

	/** Throws `JobFailure` and {@link JobReturn}; after a stop of the job, any error. */
	async run(): Promise<JobOutput> {
		const { mapping, openai, clock } = this.#options;
		const { stream } = mapping;
		const asksForStream = stream !== undefined && (stream.when === "always" || fill(stream.when, this.#names) === true);
		try {
			const send: Send = (call, more) => this.#send(call, more);
			await sendUploads(mapping.uploads, { names: this.#names, send, clock });
			const request = await this.#prepare(mapping.request);
			this.#requests.push(request);
			request.headers["idempotency-key"] ??= this.#values.idempotencyKey;
			if (asksForStream && stream.as === "sse" && mapping.request.headers["accept"] === undefined)
				request.headers["accept"] = "text/event-stream";
			this.#pollProgress();
			const silence = asksForStream || mapping.async ? this.#watchSilence() : undefined;
			const received = await sendUntilAnswered(request, {
				...this.#sendOptions(),
				onSent: (sent) => {
					this.#isSent = sent;
					if (sent) silence?.heard();
					else silence?.pause();
				},
			});
			const answer = silence ? { ...received, body: heardBody(received.body, silence) } : received;
			if (mapping.async) return await this.#withFiles(this.#unlessSilent(await this.#runAsync(answer)));
			// A server that does not stream this request answers with the whole.
			const streams = stream?.as !== "sse" || /^text\/event-stream\b/i.test(answer.headers["content-type"] ?? "");
			if (!asksForStream || !streams) {
				const output = this.#unlessSilent(await readOutput(answer, this.#output));
				return openai ? inList(output) : await this.#withFiles(output);
			}
			const chunks = chunksOf(answer, stream, mapping.answer.maxBytes);
			return this.#unlessSilentStream(chunks);
		} catch (error) {
			throw await this.failure(error);
		}
	}

	/** What an error of a request or a stream means for the job. */
	async failure(error: unknown): Promise<unknown> {
		const { context, readiness } = this.#options;
		if (this.#silent !== undefined) return new JobReturn(this.#silent, { loss: true });
		return context.signal.aborted ? error : await lossOf(error, { readiness, signal: this.#closing.signal });
	}

	/** Resolves when nothing of the job is left, also not its cancellation. */
	async end(): Promise<void> {
		this.#ended.abort();
		this.#silence?.stop();
		this.#options.context.signal.removeEventListener("abort", this.#onStop);
		await this.#cancelled;
		this.#closing.abort();
		await Promise.all(this.#requests.map((each) => each.release()));
		this.#release();
	}

	/** A job that was cancelled because the server was silent may have ended early, and well. */
	#unlessSilent<T>(output: T): T {
		if (this.#silent !== undefined) throw new JobReturn(this.#silent, { loss: true });
		return output;
	}

	async *#unlessSilentStream(
		chunks: AsyncGenerator<RawJson | StreamOutput, void>,
	): AsyncGenerator<RawJson | StreamOutput, void> {
		for await (const each of chunks) yield each instanceof StreamOutput ? this.#unlessSilent(each) : each;
	}

	#limits() {
		const { mapping, clock } = this.#options;
		return { connectMs: mapping.timeouts.connectMs, clock, signal: this.#closing.signal };
	}

	#sendOptions(): Omit<SendOptions, "onSent"> {
		const { mapping, openai, server, readiness, context, random } = this.#options;
		const errorPrefix = openai ? OPENAI_ERROR : "";
		const stopped = context.signal;
		return { ...this.#limits(), server, errors: mapping.errors, errorPrefix, readiness, stopped, random };
	}

	/** `more`: names beside those of the job. */
	#prepare(call: Call, more: Names = {}): Promise<PreparedRequest> {
		const { mapping, randomId, folder } = this.#options;
		const context = { ...this.#limits(), urls: mapping.urls, randomId, folder };
		return prepareRequest(call, { ...this.#values, names: { ...this.#names, ...more } }, context);
	}

	/** A request that does not run the job, so that a cancellation only closes it. */
	async #send(call: Call, more: Names, errors = this.#options.mapping.errors): Promise<Exchange> {
		const request = await this.#prepare(call, more);
		this.#requests.push(request);
		return await sendUntilAnswered(request, { ...this.#sendOptions(), errors, onSent: () => {} });
	}

	/** For what follows when the server has done the job: without it the job is lost. */
	async #loseOnFailure<T>(step: Promise<T>): Promise<T> {
		try {
			return await step;
		} catch (error) {
			throw lostSubmission(await this.failure(error));
		}
	}

	/** A result may be readable only once, so that only a busy server is asked again. */
	#fetchResult(call: Call): Promise<Exchange> {
		const { busy, busyMs } = this.#options.mapping.errors;
		return this.#loseOnFailure(this.#send(call, {}, { busy, busyMs, fail: [], lose: ["3xx", "4xx", "5xx"] }));
	}

	#withFiles(output: RawJson): Promise<RawJson> {
		const { mapping, folder } = this.#options;
		const send: Send = (call, more) => this.#send(call, more);
		return this.#loseOnFailure(withFiles(output, { answer: mapping.answer, folder, send }));
	}

	/** JSON of the answer. The request is not one of the job's, which a cancellation closes. */
	async #short(call: Call, withinMs: number): Promise<unknown> {
		const { server } = this.#options;
		const { connectMs, clock } = this.#limits();
		return (await callServer(server, await this.#prepare(call), { connectMs, clock, withinMs })).value;
	}

	#pollProgress(): void {
		const { mapping, clock } = this.#options;
		if (!mapping.progress?.call) return;
		const { call, everyMs } = mapping.progress;
		void pollProgress(() => this.#short(call, everyMs), {
			everyMs,
			clock,
			ended: this.#ended.signal,
			onValue: (value) => this.#progress?.(value),
		});
	}

	async #runAsync(answer: Exchange): Promise<RawJson> {
		const { mapping, server, readiness } = this.#options;
		const limits = this.#limits();
		const { maxBytes } = mapping.answer;
		const { text, end } = await readStart(answer, { maxBytes, withinMs: undefined, clock: limits.clock });
		if (end === "bound") throw tooLarge("The answer to the submission", maxBytes);
		if (end === "cut")
			throw new JobReturn(`The answer to the submission was cut at ${text.length} characters.`, { loss: true });
		this.#names = { ...this.#names, submit: parseJson(text) };
		this.#submitted.resolve();
		this.#silence?.heard();
		const at = (pointer: string): string => fillPointer(pointer, this.#names);
		const { answer: whole, failed } = this.#output;
		return await pollUntilDone({
			...limits,
			server,
			async: { ...mapping.async!, state: at(mapping.async!.state) },
			errors: mapping.errors,
			output: {
				...this.#output,
				answer: { ...whole, at: whole.at && at(whole.at) },
				failed: failed.map((rule) => ({ in: rule.in, at: at(rule.at), message: rule.message && at(rule.message) })),
			},
			readiness,
			prepare: (call) => this.#prepare(call),
			fetchResult: (call) => this.#fetchResult(call),
			onDone: () => this.#silence?.pause(),
			onPoll: (value) => {
				this.#silence?.heard();
				this.#names = { ...this.#names, poll: value };
				if (mapping.progress?.from === "poll") this.#progress?.(value);
			},
		});
	}

	#watchSilence(): Silence {
		const { mapping, clock, isAlone, kill } = this.#options;
		const { silenceMs } = mapping.timeouts;
		const onSilence = async (): Promise<void> => {
			const what = `sent nothing for ${silenceMs} ms`;
			this.#silent = `The server ${what}.`;
			this.#cancel(`the server ${what}`);
			const hasEnded = await this.#cancelled;
			if (!hasEnded && isAlone()) kill(`it ${what}`);
		};
		this.#silence = watchSilence({ silenceMs, clock, onSilence: () => void onSilence() });
		return this.#silence;
	}

	#cancel(reason: string): void {
		const { mapping, context, clock, isAlone, kill } = this.#options;
		if (this.#ended.signal.aborted || this.#cancelled) return;
		if (!this.#isSent) return this.#closing.abort();
		const { call, waitMs } = mapping.cancel;
		context.log(`Cancelling the job on the server: ${reason}.`);
		this.#cancelled = cancelJob({
			cancel: mapping.cancel,
			isAsync: mapping.async !== undefined,
			callRoute: async () => {
				// Before the answer to the submission there is no id to name.
				if (mapping.async) await Promise.race([this.#submitted.promise, clock.sleep(waitMs, this.#ended.signal)]);
				if (call && (!mapping.async || "submit" in this.#names)) await this.#short(call, waitMs);
			},
			close: () => this.#closing.abort(),
			ended: this.#ended.signal,
			kill: (why) => void (isAlone() && kill(why)),
			clock,
			log: (message) => context.log(message, "WARN"),
		});
	}
}
