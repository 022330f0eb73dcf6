/** One job on the server: its requests, its cancellation, what is left when it has ended. */
import { JobReturn } from "../../job-return.ts";
import type { RawJson } from "../../raw-json.ts";
import { StreamOutput } from "../../stream-output.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { JobFailure } from "../job-failure.ts";
import { failureIn } from "../mapping/condition.ts";
import { isObject } from "../mapping/mapping-reader.ts";
import type { Call, FailedRule } from "../mapping/mapping.ts";
import { fill, fillPointer, type Names } from "../mapping/template.ts";
import { inList } from "../openai.ts";
import { type AnswerOptions, parseJson, readOutput, readText } from "./answer.ts";
import { cancelJob } from "./cancel.ts";
import { findExisting } from "./existing.ts";
import { type Send, sendUploads, withFiles } from "./files.ts";
import { type JobRequestOptions, JobRequests } from "./job-requests.ts";
import { lossOf } from "./outcome.ts";
import { lostSubmission, pollUntilDone } from "./poll.ts";
import { createProgress, pollProgress } from "./progress.ts";
import { heardBody, type Silence, watchSilence } from "./silence.ts";
import { storeAnswer } from "./store-answer.ts";
import { chunksOf } from "./stream.ts";

export interface SessionOptions extends JobRequestOptions {
	/** Ends the server if it is the worker's own. The worker ends with it. */
	kill: (reason: string) => void;
	/** Whether the server has no other job of this worker. */
	isAlone: () => boolean;
}

/** The output, or the chunks of a stream and then its output. */
export type JobOutput = RawJson | AsyncGenerator<RawJson | StreamOutput, void>;

export class JobSession {
	readonly #options: SessionOptions;
	readonly #requests: JobRequests;
	readonly #output: AnswerOptions;
	readonly #ended = new AbortController();
	readonly #submitted = Promise.withResolvers<void>();
	readonly #release: () => void;
	readonly #send: Send = (call, more) => this.#requests.send(call, more);
	readonly #onStop = (): void => this.#cancel("the service stopped it");
	readonly #progress: ((value: unknown) => void) | undefined;
	#silence: Silence | undefined;
	/** Sentence about a server that sends nothing. */
	#silent: string | undefined;
	/** The server may have the job. */
	#isSent = false;
	/** With true if the server had ended the job before its connections were closed. */
	#cancelled: Promise<boolean> | undefined;

	constructor(options: SessionOptions) {
		const { mapping, readiness, context, clock, folder } = options;
		this.#options = options;
		this.#requests = new JobRequests(options);
		this.#output = { answer: mapping.answer, failed: mapping.failed, folder, store: this.#store() };
		this.#release = readiness.opened();
		if (mapping.progress)
			this.#progress = createProgress({ progress: mapping.progress, report: context.progress, clock });
		context.signal.addEventListener("abort", this.#onStop);
	}

	/** Undefined where the mapping stores no answers, or the worker has no bucket. */
	#store(): AnswerOptions["store"] {
		const { mapping, job, env, context, folder, randomId } = this.#options;
		const name = mapping.answer.store;
		const hasBucket = Boolean(env["BUCKET_ENDPOINT_URL"]) || isObject(job["s3Config"]);
		if (name === undefined || !hasBucket) return undefined;
		return (body, type) => storeAnswer(body, { files: context.files, name, type, folder, randomId });
	}

	/** Throws `JobFailure` and {@link JobReturn}; after a stop of the job, any error. */
	async run(): Promise<JobOutput> {
		const { mapping, openai } = this.#options;
		const { stream } = mapping;
		const { maxBytes } = mapping.answer;
		const { names } = this.#requests;
		const asksForStream = stream !== undefined && (stream.when === "always" || fill(stream.when, names) === true);
		try {
			const submitted = await this.#findExisting();
			if (submitted === undefined)
				await sendUploads(mapping.uploads, { names, upload: (call, more) => this.#requests.upload(call, more) });
			this.#pollProgress();
			const silence = asksForStream || mapping.async ? this.#watchSilence() : undefined;
			if (submitted !== undefined) return await this.#runAsync(submitted);
			const received = await this.#requests.sendJob(asksForStream && stream.as === "sse", (sent) => {
				this.#isSent = sent;
				if (sent) silence?.heard();
				else silence?.pause();
			});
			const answer = silence ? { ...received, body: heardBody(received.body, silence) } : received;
			if (mapping.async) {
				const text = await readText(answer, "The answer to the submission", maxBytes);
				const submit = parseJson(text);
				const failure = failureIn(this.#failedRules({ ...names, submit }), submit, text);
				if (failure !== undefined) throw new JobFailure(failure);
				return await this.#runAsync(submit);
			}
			// A server that does not stream this request answers with the whole.
			const streams = stream?.as !== "sse" || /^text\/event-stream\b/i.test(answer.headers["content-type"] ?? "");
			if (!asksForStream || !streams) {
				const output = this.#unlessSilent(await readOutput(answer, this.#output));
				return openai ? inList(output) : await this.#withFiles(output);
			}
			const chunks = chunksOf(answer, stream, maxBytes);
			return this.#unlessSilentStream(chunks);
		} catch (error) {
			throw await this.failure(error);
		}
	}

	/** What an error of a request or a stream means for the job. */
	async failure(error: unknown): Promise<unknown> {
		const { context, readiness } = this.#options;
		if (this.#silent !== undefined) return new JobReturn(this.#silent, { loss: true });
		return context.signal.aborted ? error : await lossOf(error, { readiness, signal: this.#requests.limits.signal });
	}

	/** Resolves when nothing of the job is left, also not its cancellation. */
	async end(): Promise<void> {
		this.#ended.abort();
		this.#silence?.stop();
		this.#options.context.signal.removeEventListener("abort", this.#onStop);
		await this.#cancelled;
		this.#requests.close();
		await this.#requests.release();
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
		return this.#loseOnFailure(this.#requests.send(call, {}, { busy, busyMs, fail: [], lose: ["3xx", "4xx", "5xx"] }));
	}

	#withFiles(output: RawJson): Promise<RawJson> {
		const { mapping, folder } = this.#options;
		return this.#loseOnFailure(withFiles(output, { answer: mapping.answer, folder, send: this.#send }));
	}

	#pollProgress(): void {
		const { mapping, clock } = this.#options;
		if (!mapping.progress?.call) return;
		const { call, everyMs } = mapping.progress;
		void pollProgress(() => this.#requests.ask(call, everyMs), {
			everyMs,
			clock,
			ended: this.#ended.signal,
			onValue: (value) => this.#progress?.(value),
		});
	}

	/** With the names of the submission in their pointers. */
	#failedRules(names: Names): FailedRule[] {
		return this.#output.failed.map((rule) => ({
			...rule,
			at: fillPointer(rule.at, names),
			message: rule.message && fillPointer(rule.message, names),
		}));
	}

	/** As for {@link findExisting}. */
	async #findExisting(): Promise<unknown> {
		const { mapping, context } = this.#options;
		if (!mapping.async?.existing) return undefined;
		const { maxBytes } = mapping.answer;
		const { names } = this.#requests;
		const found = await findExisting(mapping.async.existing, { names, send: this.#send, maxBytes });
		if (found === undefined) return undefined;
		this.#isSent = true;
		context.log("The server has the job already, of an earlier attempt: it is not submitted again.");
		return found;
	}

	/** `submit`: the answer to the submission. */
	async #runAsync(submit: unknown): Promise<RawJson> {
		const { mapping, server, readiness, hide } = this.#options;
		const requests = this.#requests;
		requests.names = { ...requests.names, submit };
		this.#submitted.resolve();
		this.#silence?.heard();
		const at = (pointer: string): string => fillPointer(pointer, requests.names);
		const { answer: whole } = this.#output;
		const output = await pollUntilDone({
			...requests.limits,
			server,
			async: { ...mapping.async!, state: at(mapping.async!.state) },
			errors: mapping.errors,
			output: {
				...this.#output,
				answer: { ...whole, at: whole.at && at(whole.at) },
				failed: this.#failedRules(requests.names),
			},
			readiness,
			hide,
			prepare: (call) => requests.prepare(call),
			fetchResult: (call) => this.#fetchResult(call),
			onDone: () => this.#silence?.pause(),
			onPoll: (value) => {
				this.#silence?.heard();
				requests.names = { ...requests.names, poll: value };
				if (mapping.progress?.from === "poll") this.#progress?.(value);
			},
		});
		return await this.#withFiles(this.#unlessSilent(output));
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
		if (!this.#isSent) return this.#requests.close();
		const { call, waitMs } = mapping.cancel;
		context.log(`Cancelling the job on the server: ${reason}.`);
		this.#cancelled = cancelJob({
			cancel: mapping.cancel,
			isAsync: mapping.async !== undefined,
			callRoute: async () => {
				// Before the answer to the submission there is no id to name.
				if (mapping.async) await Promise.race([this.#submitted.promise, clock.sleep(waitMs, this.#ended.signal)]);
				if (call && (!mapping.async || "submit" in this.#requests.names)) await this.#requests.ask(call, waitMs);
			},
			close: () => this.#requests.close(),
			ended: this.#ended.signal,
			kill: (why) => void (isAlone() && kill(why)),
			clock,
			log: (message) => context.log(message, "WARN"),
		});
	}
}
