/** Fetches a file of the input that is given as an address. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { JobReturn } from "../../job-return.ts";
import { JobFailure } from "../job-failure.ts";
import { isPublic } from "./address.ts";
import { type ConnectOptions, hostOf, serverOf } from "./connection.ts";
import { exchange } from "./exchange.ts";
import { spool, TooLargeError, type Spool } from "./spool.ts";
import { timeLimit } from "./time-limit.ts";

/** Maximum size of a fetched file, bytes. */
const MAX_FILE = 100 * 1_048_576;
/** Maximum number and size of all files that one job has fetched. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_073_741_824;
/** Time for a file, ms. */
const FETCH_MS = 300_000;

/** Files and bytes that a job has fetched. */
export interface Fetched {
	files: number;
	bytes: number;
}

export interface FetchOptions extends ConnectOptions {
	/** Public addresses: https only, to an address that is checked once and then used. */
	urls: "public" | "any";
	resolve?: (host: string) => Promise<string[]>;
	/** Of the job until now. This file is added. */
	fetched: Fetched;
	/** Where temporary files are. Default: that of the system. */
	folder?: string | undefined;
}

/**
 * The file, and its content type if the answer has one. Throws a {@link JobFailure} that names `what`, and
 * {@link JobReturn} for what another time or another worker may not meet.
 */
export async function fetchFile(
	text: string,
	what: string,
	{ urls, fetched, folder, resolve = addressesOf, ...options }: FetchOptions,
): Promise<{ spool: Spool; type: string | undefined; name: string | undefined }> {
	const url = URL.parse(text);
	if (!url || (url.protocol !== "https:" && urls === "public"))
		throw new JobFailure(`${what} must be an https address.`);
	if (url.username || url.password) throw new JobFailure(`${what} must be an address without user and password.`);
	if (fetched.files >= MAX_FILES)
		throw new JobFailure(`${what}: a job may name at most ${MAX_FILES} files by address: send fewer, or in more jobs.`);
	fetched.files += 1;
	const maxBytes = Math.min(MAX_FILE, MAX_BYTES - fetched.bytes);
	const host = hostOf(url);
	const limit = timeLimit(FETCH_MS, options);
	try {
		const addresses = isIP(host) ? [host] : await resolve(host);
		const allowed =
			urls === "any" ? addresses : addresses.filter((each) => isPublic(each) && !ownAddresses().includes(each));
		if (allowed[0] === undefined) throw new JobFailure(`${what}: ${host} has no public address.`);
		const path = `${url.pathname}${url.search}`;
		const answer = await exchange(serverOf(url, allowed[0], ""), {
			...options,
			signal: limit.signal,
			method: "GET",
			path,
			headers: { accept: "*/*" },
		});
		if (answer.status !== 200) {
			answer.close();
			throw new JobFailure(`${what}: ${host} answered with HTTP ${answer.status} instead of the file.`);
		}
		if (Number(answer.headers["content-length"] ?? 0) > maxBytes) {
			answer.close();
			throw new TooLargeError(`larger than ${maxBytes} bytes`);
		}
		const type = answer.headers["content-type"];
		const name = decodeName(url.pathname.split("/").at(-1));
		const content = await spool(answer.body, { maxBytes, folder });
		fetched.bytes += content.bytes;
		return { spool: content, type, name };
	} catch (error) {
		if (error instanceof JobFailure || error instanceof JobReturn) throw error;
		const { message, code } = error as NodeJS.ErrnoException;
		if (code === "EAI_AGAIN") throw new JobReturn(`${what}: the address of ${host} cannot be resolved now: ${message}`);
		const late = limit.isOver && `it did not arrive within ${FETCH_MS} ms`;
		const most = maxBytes < MAX_FILE ? `, all that is left of the ${MAX_BYTES} of a job` : "";
		const reason = error instanceof TooLargeError ? `the file is ${message}${most}` : late || message;
		throw new JobFailure(`${what}: the file could not be fetched from ${host}: ${reason}.`);
	} finally {
		limit.end();
	}
}

async function addressesOf(host: string): Promise<string[]> {
	return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Services on an address of this machine may trust it, even if the address is public. */
function ownAddresses(): string[] {
	return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

function decodeName(segment: string | undefined): string | undefined {
	try {
		return segment ? decodeURIComponent(segment) : undefined;
	} catch {
		return segment;
	}
}
