/**
 * Rules of objects of S3 clients (D59). Each put has a content of its own, so that what is read says whose it is.
 * - `object-kept`: what was acknowledged is there until it is overwritten or deleted; what was deleted does not come
 *   back
 * - `object-whole`: bytes are those of one put, copy or completed upload, whole
 * - `object-etag`: an ETag is that of the bytes
 * - `object-condition`: `If-None-Match: *` stores where nothing is, and only there
 * - `object-list`: a list has what is there, as it is
 * - `upload-hidden`: the content of an upload that was aborted is no object
 */
import type { ChangeOp, Members, ShownOp } from "../history.ts";
import { over, type Violation } from "./job-history.ts";
import { isCertainlyBetween, isDone, mayLieBetween, ObjectHistory } from "./object-rules.ts";

/** How the names of such objects begin. */
export const STORED = "s3 ";

const BYTES: readonly string[] = ["content", "range"];

export class StoredObjectHistory extends ObjectHistory {
	private readonly isAborted: (upload: string) => boolean;

	constructor(object: string, report: (violation: Violation) => void, isAborted: (upload: string) => boolean) {
		super(object, report, ruleOf);
		this.isAborted = isAborted;
	}

	/** Whether the key may have got something else, or nothing, since that completion and before the later operation. */
	mayHaveChanged(completion: ChangeOp, later: { to: number }): boolean {
		return this.changes.some((each) => each.upload !== completion.upload && mayLieBetween(completion, each, later));
	}

	completionsOf(upload: string): ChangeOp[] {
		return this.changes.filter((each) => each.upload === upload);
	}

	/** All members of what is shown are of one put. */
	protected override judgeMembers(op: ShownOp): void {
		this.judgeExistence(op);
		const { members = {} } = op;
		const puts = this.changes.filter(({ how, from }) => how !== "delete" && from < op.to);
		const writers = puts.filter(({ sets }) => has(sets, members));
		if (writers.length === 0) return this.judgeForeign(op, puts);
		const found = writers.filter(({ upload }) => upload === undefined || !this.isAborted(upload));
		if (found.length === 0) return this.breaks("upload-hidden", "has the content of an aborted upload", op);
		const later = found.map((writer) => this.changes.find((each) => isCertainlyBetween(writer, each, op, "etag")));
		if (later.every((each) => each !== undefined))
			this.violates("it has a content that was replaced or deleted", found.at(-1)!, later.at(-1)!, op);
	}

	/** What no put has set. */
	private judgeForeign(op: ShownOp, puts: readonly ChangeOp[]): void {
		const { members = {}, how } = op;
		if (how !== undefined) return this.violates("it has what was never put", op);
		const bytes = Object.entries(members).filter(([name]) => BYTES.includes(name));
		const known = puts.findLast(({ sets }) => has(sets, Object.fromEntries(bytes)));
		const isOfAnother = bytes.length === 0 || known !== undefined;
		if (isOfAnother) return this.breaks("object-etag", "its ETag or size is not that of its bytes", known, op);
		this.breaks("object-whole", "it has bytes that no put had", puts.at(-1), op);
	}

	/** Each change sets all, or removes it. */
	protected override isReplaced(op: ChangeOp, before: number): boolean {
		return this.changes.some((each) => isDone(each) && each.from > over(op) && each.to < before);
	}

	private breaks(rule: string, what: string, ...lines: (ChangeOp | ShownOp | undefined)[]): void {
		const [object] = lines.flatMap((line) => line?.object ?? []);
		this.report({ rule, what: `${object}: ${what}`, lines: lines.filter((line) => line !== undefined) });
	}
}

/** What it breaks if it does not follow what was put and deleted. */
function ruleOf(op: ChangeOp | ShownOp): string {
	if (op.op === "change") return op.how === "create" ? "object-condition" : "object-kept";
	return op.how === undefined ? "object-kept" : `object-${op.how}`;
}

const has = (sets: Members, members: Members): boolean =>
	Object.entries(members).every(([name, value]) => sets[name] === value);
