// Perfetto's trace processor, as Perfetto's page has it, without a browser: what comes in are
// frames of its RPC protocol, and so is what goes out.
//
//     node trace_processor.js DIRECTORY
//
// DIRECTORY has the page's engine_bundle.js. That is written for a worker of a page: it gets its
// WebAssembly module by a request that it waits for, and a port for the frames as its first message.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const directory = process.argv[2];
const input = process.stdin;

globalThis.self = globalThis;
globalThis.location = { href: "" };
globalThis.WorkerGlobalScope = Object;
globalThis.importScripts = () => {};
globalThis.XMLHttpRequest = class {
  open(method, name) {
    this.name = name;
  }
  send() {
    this.response = fs.readFileSync(path.join(directory, this.name));
  }
};
// It looks for this to refuse to run here, and what it says is not for those who read the frames.
globalThis.process = undefined;
console.log = console.info = console.error;

const port = {
  postMessage(bytes) {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
  },
};
vm.runInThisContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"));
globalThis.onmessage({ data: port });
// It is ready when those who wait for the module have been told.
setImmediate(() => input.on("data", (data) => port.onmessage({ data })));
