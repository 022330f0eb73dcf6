/** Where calls go, and what counts as no answer, with an API server here. */
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { isUnanswered, kubernetesClient, sentenceOf } from "./client.ts";

const clientOf = (server: string) =>
	kubernetesClient({ server, namespace: "ai", insecure: false, credentials: async () => ({ token: "t" }) });

it("D25: a server below a path, such as a cluster of Rancher", async () => {
	const asked: string[] = [];
	const server = createServer(({ url = "" }, response) => {
		asked.push(url);
		response.end("{}");
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as { port: number };
	for (const path of ["", "/k8s/clusters/c-m-abc", "/k8s/"]) {
		const client = clientOf(`http://127.0.0.1:${port}${path}`);
		await client.call("GET", "/api/v1/pods", { query: { limit: "1" } });
		for await (const _ of await client.stream("/api/v1/pods", { query: { watch: "true" } }));
		await client.close();
	}
	server.close();
	expect(asked).toEqual(
		["", "/k8s/clusters/c-m-abc", "/k8s"].flatMap((path) => [
			`${path}/api/v1/pods?limit=1`,
			`${path}/api/v1/pods?watch=true`,
		]),
	);
});

it("D25: a request that cannot be sent is no server that does not answer", async () => {
	const client = clientOf("http://127.0.0.1:1");
	onTestFinished(() => client.close());
	const error: unknown = await client.call("GET", "/a b").catch((reason: unknown) => reason);
	expect(error).toMatchObject({ code: "UND_ERR_INVALID_ARG" });
	expect(isUnanswered(error)).toBe(false);
	expect(sentenceOf(error, client.server)).not.toContain("does not answer");
});
