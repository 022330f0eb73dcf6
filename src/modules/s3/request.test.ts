import { expect, it } from "vitest";
import { signedPlaces } from "./request.ts";

const places = (url: string, path = "/s3/b/k") =>
	signedPlaces({ path, headers: new Map([["host", ["proxied:80"]]]) }, new URL(url)).map((each) => each.host + each.path);

it("D59: a client may have signed the host of the request or the service's, and s3cmd signs a path with the host", () => {
	expect(signedPlaces({ path: "/s3/b/k", headers: new Map() }, new URL("http://a:1"))).toEqual([
		{ host: "a:1", path: "/s3/b/k" },
		{ host: "a:1/s3", path: "/b/k" },
	]);
	expect(places("https://a")).toContain("a/s3/b/k");
	expect(places("https://a")).toContain("proxied:80/s3/b/k");
});

it("D59: a proxy may have removed the path of the service's address", () => {
	const found = signedPlaces({ path: "/s3/b/k", headers: new Map() }, new URL("https://a/api/"));
	expect(found).toEqual([
		{ host: "a", path: "/s3/b/k" },
		{ host: "a/s3", path: "/b/k" },
		{ host: "a", path: "/api/s3/b/k" },
		{ host: "a/api/s3", path: "/b/k" },
	]);
});

it.each(["https://a/s3", "https://a/s3/x"])("D59: no link is one to two objects where the service is at %s", (url) => {
	const removed = new URL(url).pathname;
	const [one, two] = [places(url, "/s3/b/k"), places(url, `${removed}/s3/b/k`)];
	expect(one.filter((each) => two.includes(each))).toEqual([]);
});
