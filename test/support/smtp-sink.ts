/** An SMTP server on loopback that accepts mail of one user over STARTTLS only, and keeps it. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

export interface Mail {
	from: string;
	to: string[];
	/** With headers. */
	text: string;
}

/** Makes its certificate, for localhost, in `folder`: a client must trust `authority`. */
export async function smtpSink(folder: string, account: { user: string; password: string }) {
	const [cert, key] = [join(folder, "smtp.crt"), join(folder, "smtp.key")];
	const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
	const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
	execFileSync("openssl", ["req", "-x509", ...curve, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
	const mails: Mail[] = [];
	const server = new SMTPServer({
		cert: readFileSync(cert),
		key: readFileSync(key),
		allowInsecureAuth: false,
		onAuth({ username, password }, session, done) {
			const valid = session.secure && username === account.user && password === account.password;
			if (valid) done(null, { user: username });
			else done(new Error("Wrong user or password"));
		},
		onData(stream, { envelope: { mailFrom, rcptTo } }, done) {
			void text(stream).then((content) => {
				mails.push({
					from: mailFrom ? mailFrom.address : "",
					to: rcptTo.map(({ address }) => address),
					// Without the soft line ends of quoted-printable.
					text: content.replaceAll("=\r\n", ""),
				});
				done();
			});
		},
	});
	server.listen(0, "127.0.0.1");
	await once(server.server, "listening");
	return {
		port: (server.server.address() as AddressInfo).port,
		authority: cert,
		mails,
		end: () => new Promise<void>((resolve) => server.close(() => resolve())),
	};
}
