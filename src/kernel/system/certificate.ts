/** The TLS certificate and key of the service, from PEM files (D34). */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { fileCalls } from "./file-calls.ts";

export interface TlsFiles {
	cert: string;
	key: string;
}

/** Throws an Error for the operator if the files cannot be used. */
export async function readCertificate(
	files: TlsFiles,
	now: number,
): Promise<{ options: SecureContextOptions; expiresAt: number }> {
	const [cert, key] = await Promise.all([read(files.cert, "certificate"), read(files.key, "key")]);
	const certificate = parse(cert, (text) => new X509Certificate(text), {
		path: files.cert,
		expected: "a certificate",
	});
	const privateKey: KeyObject = parse(key, (text) => createPrivateKey(text), {
		path: files.key,
		expected: "a private key without a passphrase",
	});
	if (!certificate.checkPrivateKey(privateKey))
		throw new Error(`The key in ${files.key} does not belong to the certificate in ${files.cert}.`);
	const expiresAt = Date.parse(certificate.validTo);
	if (expiresAt <= now) throw new Error(`The certificate in ${files.cert} expired on ${certificate.validTo}.`);
	const options: SecureContextOptions = { cert, key, minVersion: "TLSv1.2" };
	try {
		createSecureContext(options);
	} catch (error) {
		throw new Error(`${files.cert} cannot be used: ${(error as Error).message}.`, { cause: error });
	}
	return { options, expiresAt };
}

async function read(path: string, what: string): Promise<string> {
	try {
		return await fileCalls.run(path, () => readFile(path, "utf8"));
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw new Error(
			code === "ENOENT"
				? `The ${what} file ${path} does not exist.`
				: `The ${what} file ${path} cannot be read: ${message}.`,
			{ cause: error },
		);
	}
}

function parse<T>(
	text: string,
	parser: (text: string) => T,
	{ path, expected }: { path: string; expected: string },
): T {
	try {
		return parser(text);
	} catch (error) {
		throw new Error(`${path} does not contain ${expected} in PEM form.`, { cause: error });
	}
}
