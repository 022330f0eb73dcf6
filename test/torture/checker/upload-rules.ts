/**
 * Rules of uploads in parts (D59).
 * - `upload-kept`: an upload and its acknowledged parts are there until it is completed or aborted
 * - `upload-hidden`: after either it takes no part, is in no list, and is not completed otherwise
 */
import type { UploadOp } from "../history.ts";
import { over, type Violation } from "./job-history.ts";
import type { StoredObjectHistory } from "./stored-object-rules.ts";

const [GONE, BAD_PART] = ["NoSuchUpload", "InvalidPart"];

export class UploadHistory {
	private readonly ops: UploadOp[] = [];
	private judgedTo = 0;
	private readonly object: StoredObjectHistory;
	private readonly report: (violation: Violation) => void;

	constructor(object: StoredObjectHistory, report: (violation: Violation) => void) {
		this.object = object;
		this.report = report;
	}

	add(op: UploadOp): void {
		this.ops.push(op);
	}

	get held(): number {
		return this.ops.length;
	}

	get isAborted(): boolean {
		return this.ops.some(({ how, result }) => how === "abort" && result === "ok");
	}

	/** Whether nothing was asked of it since. */
	isOver(before: number): boolean {
		return this.ops.every(({ to }) => to < before);
	}

	/** Judges what was answered before that moment. Its object has not forgotten yet what was. */
	judge(before: number): void {
		for (const op of this.ops) if (op.to >= this.judgedTo && op.to < before) this.judgeOne(op);
		this.judgedTo = before;
	}

	private judgeOne(op: UploadOp): void {
		if (op.result === "ok") this.judgeEnd(op);
		else if (op.result === "fail" && op.error === BAD_PART) this.judgeParts(op);
		else if (op.result === "fail" && op.error === GONE && op.how !== "abort") this.judgeMissing(op);
	}

	/** What ended it, and was not the same completion. */
	private judgeEnd(op: UploadOp): void {
		const end = this.ops.find(
			(each) => each !== op && isEnd(each) && each.result === "ok" && (isOther(each, op) || each.to < op.from),
		);
		if (!end || (end.how === "complete" && op.how === "complete")) return;
		this.violates("upload-hidden", `${op.how} after ${end.how}`, end, op);
	}

	/** A part is refused if another one may have replaced it. */
	private judgeParts(op: UploadOp): void {
		const sent = this.ops.filter(({ how, result }) => how === "part" && result !== "fail");
		const isThere = ([number, etag]: [number, string]): boolean => {
			const put = sent.find(({ parts, result, to }) => result === "ok" && to < op.from && parts![0]![1] === etag);
			if (put?.parts![0]![0] !== number) return false;
			const others = sent.filter(({ parts }) => parts![0]![0] === number && parts![0]![1] !== etag);
			return !others.some((each) => over(each) > put.from && each.from < op.to);
		};
		if (op.parts!.every(isThere)) this.violates("upload-kept", "an acknowledged part is missing", op);
	}

	/** An upload is missing only after an end that may have been, and its completion only with its object. */
	private judgeMissing(op: UploadOp): void {
		const isBefore = (each: UploadOp): boolean => each !== op && each.from < op.to;
		const ends = this.ops.filter((each) => isEnd(each) && isBefore(each));
		if (!ends.some(({ result }) => result !== "fail")) return this.violates("upload-kept", "it is missing", op);
		if (op.how !== "complete" || ends.some(({ how, result }) => how === "abort" && result !== "fail")) return;
		const done = this.object.completionsOf(op.upload).find(({ result, to }) => result === "ok" && to < op.from);
		if (done && !this.object.mayHaveChanged(done, op))
			this.violates("upload-kept", "the repetition of its completion was refused", op);
	}

	private violates(rule: string, what: string, ...lines: UploadOp[]): void {
		const { upload, object } = lines.at(-1)!;
		this.report({ rule, what: `${upload} of ${object}: ${what}`, lines });
	}
}

const isEnd = ({ how }: UploadOp): boolean => how === "complete" || how === "abort";

/** Of a completion and an abort only one can be acknowledged, whichever comes first. */
const isOther = (end: UploadOp, op: UploadOp): boolean => isEnd(op) && op.how !== end.how;
