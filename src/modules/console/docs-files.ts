/** Files of the documentation site and redirects to them (D40). */
import { type Call, query } from "../../kernel/http/exchange/call.ts";
import type { Bundle } from "./bundle.ts";
import { INDEX, noFile, redirect, sendFile, sendNotBuilt } from "./send-file.ts";

/** The search is WebAssembly. */
const POLICY = [
	"default-src 'none'",
	"script-src 'self' 'wasm-unsafe-eval'",
	"style-src 'self'",
	"connect-src 'self'",
	"img-src 'self' data:",
	"worker-src 'self'",
	"frame-ancestors 'none'",
	"base-uri 'none'",
	"form-action 'self'",
].join("; ");

const NOT_BUILT = {
	title: "The documentation is not built",
	command: "npm run site",
	more:
		"<p>A package has it if that was run before <code>npm pack</code>.</p>" +
		'<p>The <a href="api/">API reference</a> needs no build.</p>',
};

export function docsFiles(site: Bundle) {
	return {
		async docs(call: Call): Promise<void> {
			const found = (await site.files())?.get(INDEX);
			if (found) await sendFile(call, found, POLICY);
			else sendNotBuilt(call, NOT_BUILT, POLICY);
		},
		async docsFile(call: Call<"rest">): Promise<void> {
			const { params } = call;
			const files = await site.files();
			const found = files?.get(params.rest.replace(/\/$/, `/${INDEX}`));
			if (found) return await sendFile(call, found, POLICY);
			if (files?.has(`${params.rest}/${INDEX}`)) return redirect(call, `${params.rest.split("/").at(-1)}/`);
			throw noFile(call);
		},
		/** `?endpoint=` still means the API reference. */
		docsFolder(call: Call): void {
			const endpoint = query(call).get("endpoint");
			redirect(call, endpoint === null ? "docs/" : `docs/api/?endpoint=${encodeURIComponent(endpoint)}`);
		},
	};
}
