/**
 * What the adapter's image is made of (decision 0061): the Node that runs this service, the libraries that it has
 * loaded, the worker kit, and the few files of a system that they read.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { fileCalls } from "../../../kernel/system/file-calls.ts";
import { version } from "../../../kernel/version.ts";
import { type ImageFile, tarOf } from "./image-tar.ts";

export interface AdapterContent {
	/** Differs if anything in the image but Node and its libraries does, or their versions do. */
	tag: string;
	/** Lines of a Dockerfile. */
	changes: readonly string[];
	/** Processor for which it is, as Node names it. */
	arch: string;
	/** The image as a tar. `sent`: called with the part that was read, 0 to 1. */
	tar(sent: (part: number) => void): Readable;
}

/** What the report of a process says about it. */
export interface NodeReport {
	/** Paths of the libraries. */
	sharedObjects: readonly string[];
	header: { glibcVersionRuntime?: string };
}

/** The kit as `npm run build` makes it. */
const KIT = fileURLToPath(
	new URL(`${import.meta.url.endsWith(".ts") ? "../../../../dist" : "../../.."}/worker/`, import.meta.url),
);
const KIT_THERE = "/opt/sluice";
const NODE_THERE = "/usr/bin/node";

/** Certificates of authorities, on different distributions. */
const AUTHORITIES = [
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
];

/** Loaded by glibc before 2.34 when a name is looked up; later ones have them built in. */
const LOOKUP_LIBRARIES = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

const USER = "1000:1000";

const SYSTEM_FILES: Readonly<Record<string, string>> = {
	"/etc/passwd": "root:x:0:0::/root:/sbin/nologin\nsluice:x:1000:1000::/tmp:/sbin/nologin\n",
	"/etc/group": "root:x:0:\nsluice:x:1000:\n",
	// By default an older glibc does not read /etc/hosts, where Docker writes host.docker.internal.
	"/etc/nsswitch.conf": "hosts: files dns\n",
	[`${KIT_THERE}/package.json`]: '{"type":"module"}\n',
};

/** Not a link to the kit, whose first line names a program that the image has not. */
const PROGRAM = `#!${NODE_THERE}\nimport("${KIT_THERE}/sluice-http.js");\n`;

const FIX = "set launcher.adapterImage to an image with sluice-http, such as Sluice's own";

/** Rejects with a sentence where the image cannot be made of this Node. */
export async function adapterContent(report: NodeReport = nodeReport(), kit = KIT): Promise<AdapterContent> {
	const glibc = glibcOf(report);
	const libraries = await librariesOf(report, glibc);
	const authorities = await firstOf(AUTHORITIES);
	const texts = Object.entries(SYSTEM_FILES).map(([path, text]) => bytesAt(path, Buffer.from(text)));
	const own: (ImageFile & { from: Uint8Array })[] = [
		...texts,
		bytesAt("/usr/bin/sluice-http", Buffer.from(PROGRAM), 0o755),
		...(await kitFiles(kit)),
		...(authorities ? [bytesAt(AUTHORITIES[0]!, authorities)] : []),
	];
	const changes = [
		`ENV LD_LIBRARY_PATH=${[...new Set(libraries.map((path) => dirname(path)))].join(":")}`,
		...(authorities ? [`ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES[0]}`] : []),
		`USER ${USER}`,
		'ENTRYPOINT ["sluice-http"]',
		`LABEL org.opencontainers.image.title="Sluice adapter" org.opencontainers.image.version="${version}"`,
		"LABEL sluice.image=adapter org.opencontainers.image.licenses=Apache-2.0",
	];
	const { arch } = process;
	const hash = createHash("sha256").update(JSON.stringify([version, process.version, arch, glibc, libraries, changes]));
	for (const { path, from } of own) hash.update(`${path}\0${from.length}\0`).update(from);
	const node = await fileCalls.run(process.execPath, () => realpath(process.execPath));
	const files: readonly ImageFile[] = [
		...own,
		{ path: NODE_THERE, mode: 0o755, from: { file: node } },
		...libraries.map((path) => ({ path, mode: 0o755, from: { file: path } })),
	];
	return { tag: hash.digest("hex").slice(0, 16), changes, arch, tar: (sent) => tarOf(files, sent) };
}

/** Throws an Error where this Node is not one for Linux with glibc. */
function glibcOf({ header }: NodeReport): string {
	const of = "the adapter's image is made of the Node of this service, which";
	if (process.platform !== "linux") throw new Error(`${of} is not one for Linux: ${FIX}`);
	const { glibcVersionRuntime: glibc } = header;
	if (glibc === undefined) throw new Error(`${of} uses another C library than glibc: ${FIX}`);
	return glibc;
}

async function librariesOf({ sharedObjects }: NodeReport, glibc: string): Promise<string[]> {
	// Neither the part of the kernel, nor addons of Node.
	const loaded = sharedObjects.filter((path) => path.startsWith("/") && /\.so(?:\.\d+)*$/.test(path));
	const [major = 0, minor = 0] = glibc.split(".").map(Number);
	if (major > 2 || minor >= 34) return loaded;
	const folder = dirname(loaded.find((path) => /^libc[.-]/.test(basename(path))) ?? "/lib/");
	const paths = LOOKUP_LIBRARIES.map((name) => join(folder, name)).filter((path) => !loaded.includes(path));
	const areThere = await Promise.all(paths.map((path) => fileCalls.isThere(path)));
	return [...loaded, ...paths.filter((_, index) => areThere[index])];
}

async function kitFiles(folder: string): Promise<(ImageFile & { from: Uint8Array })[]> {
	try {
		const entries = await fileCalls.run(folder, () => readdir(folder, { withFileTypes: true }));
		const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
		return await Promise.all(
			names.toSorted().map(async (name) => {
				const path = join(folder, name);
				return bytesAt(`${KIT_THERE}/${name}`, await fileCalls.run(path, () => readFile(path)));
			}),
		);
	} catch (cause) {
		throw new Error(`the worker kit cannot be read in ${folder}: run npm run build`, { cause });
	}
}

async function firstOf(paths: readonly string[]): Promise<Buffer | undefined> {
	for (const path of paths) {
		const found = await fileCalls.run(path, () => readFile(path)).catch(() => undefined);
		if (found) return found;
	}
	return undefined;
}

function bytesAt(path: string, from: Uint8Array, mode = 0o644): ImageFile & { from: Uint8Array } {
	return { path, mode, from };
}

function nodeReport(): NodeReport {
	const report: typeof process.report & { excludeNetwork?: boolean } = process.report;
	const { excludeNetwork = false } = report;
	// Names of peers would be looked up, which may take seconds.
	report.excludeNetwork = true;
	try {
		return report.getReport() as unknown as NodeReport;
	} finally {
		report.excludeNetwork = excludeNetwork;
	}
}
