import { expect, it } from "vitest";
import { signedPlaces } from "./request.ts";

const places = (url: string, path: string, host?: string) =>
	signedPlaces({ path, headers: new Map(host === undefined ? [] : [["host", [host]]]) }, new URL(url)).map(
		(each) => each.host + each.path,
	);

it("D59: a client may have signed the host of the request or the service's, at the root too", () => {
	expect(places("https://a", "/s3/b/k", "proxied:80")).toEqual(["proxied:80/s3/b/k", "a/s3/b/k"]);
	expect(places("https://a", "/b/k", "a")).toEqual(["a/b/k"]);
});

it("D59: what was sent as it is may be signed encoded", () => {
	expect(places("https://a", "/s3/b/k(1)%2f%C3%A9")).toEqual(["a/s3/b/k(1)%2f%C3%A9", "a/s3/b/k%281%29%2F%C3%A9"]);
});

it("D59: a proxy may have removed the path of the service's address", () => {
	expect(places("https://a/api/", "/s3/b/k")).toEqual(["a/s3/b/k", "a/api/s3/b/k"]);
});

it.each(["https://a/api", "https://a/s3", "https://a/s3/x", "https://a/s3x"])(
	"D59: no signature is one of two objects where the service is at %s",
	(url) => {
		const removed = new URL(url).pathname;
		const paths = ["/s3/b/k", `${removed}/s3/b/k`, `/s3${removed}/b/k`, `${removed}/b/k`, "/b/k"];
		const all = [...new Set(paths)].flatMap((path) => places(url, path));
		expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
	},
);
