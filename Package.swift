// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Inturn",
  platforms: [.macOS(.v15)],
  // Each product is a library by itself; none has flags of its own, so that a version of this
  // package can be a dependency. Tests/Consumer uses all of them.
  products: [
    // The C library `libinturn`, for targets in C: `#include <CInturn.h>` is include/inturn.h.
    // What programs outside of Swift packages link is built by bindings/c/install.sh.
    .library(name: "inturn", type: .dynamic, targets: ["InturnC"]),
    // `InteractionQueue`: modal interactions, one at a time, while their view is visible.
    .library(name: "InteractionQueue", targets: ["InteractionQueue"]),
    // `AsyncOperation` and `AsyncBlockOperation`, for Foundation's OperationQueue: operations that
    // end when they say so.
    .library(name: "AsyncOperation", targets: ["AsyncOperation"]),
    // `SynchronousDispatchGroup` and `SynchronousOperationQueue`: lists of asynchronous tasks,
    // performed in order, with one completion. It brings AsyncOperation along.
    .library(name: "AsyncTaskPerformer", targets: ["AsyncTaskPerformer"]),
    // `ConcurrentKVO`: values that any thread changes, with observers that miss no change.
    .library(name: "ConcurrentKVO", targets: ["ConcurrentKVO"]),
    // `FIFOQueue`, `ActorQueue`, `MainActorQueue` and `CancellableQueue`: ordered work from
    // synchronous code into Swift concurrency.
    .library(name: "AsyncQueue", targets: ["AsyncQueue"]),
  ],
  traits: [
    .trait(
      name: "ReadsTasks",
      description: "An enqueue looks into its task, where the runtime is known, and makes none."
    ),
    .default(enabledTraits: ["ReadsTasks"]),
  ],
  targets: [
    // What the engine needs of the operating system and Swift cannot express.
    .target(name: "CInturnSystem"),
    // The engine. No Foundation; nothing public.
    .target(name: "InturnCore", dependencies: ["CInturnSystem"]),
    // include/inturn.h as Swift sees it.
    .target(name: "CInturn"),
    // The C library's functions: look up, call, map the status.
    .target(name: "InturnC", dependencies: ["CInturn", "InturnCore"]),
    // What the Swift modules share: the words of their interfaces, and what is behind queues that the
    // engine drains. Each of them exports it.
    .target(name: "Inturn", dependencies: ["CSwiftTask", "InturnCore"]),
    // Foundation.Operation, ended by finish tokens; concurrent queues.
    .target(name: "AsyncOperation", dependencies: ["Inturn"]),
    // Modal interactions, on the engine's interaction queues.
    .target(name: "InteractionQueue", dependencies: ["AsyncOperation", "Inturn"]),
    // Lists of tasks and operations with one completion.
    .target(name: "AsyncTaskPerformer", dependencies: ["AsyncOperation", "Inturn"]),
    // Observed values. Foundation on Apple's systems only.
    .target(name: "ConcurrentKVO", dependencies: ["Inturn"]),
    // The main job: `swift run onboarding`.
    .executableTarget(
      name: "onboarding", dependencies: ["InturnC"], path: "examples/c",
      sources: ["onboarding.c", "picture.c", "screen.c", "steps.c", "terminal.c"],
      cSettings: [.headerSearchPath("../../include")]),
    // What the modules' tests wait with.
    .target(name: "TestSupport", dependencies: ["Inturn"], path: "Tests/Support"),
    .testTarget(
      name: "AsyncOperationTests", dependencies: ["AsyncOperation", "ConcurrentKVO", "TestSupport"]),
    .testTarget(
      name: "AsyncTaskPerformerTests", dependencies: ["AsyncTaskPerformer", "TestSupport"]),
    .testTarget(
      name: "InteractionQueueTests",
      dependencies: ["ConcurrentKVO", "InteractionQueue", "TestSupport"]),
    // Observed values: `swift run values`.
    .executableTarget(
      name: "values", dependencies: ["InturnC"], path: "examples/c", sources: ["values.c"],
      cSettings: [.headerSearchPath("../../include")]),
    .testTarget(name: "InturnCoreTests", dependencies: ["InturnCore", "TestSupport"]),
    .testTarget(
      name: "ConcurrentKVOTests", dependencies: ["ConcurrentKVO", "InturnCore", "TestSupport"]),
    // What the Swift runtime knows of task-local values, as a C header.
    .target(name: "CSwiftTask"),
    // FIFOQueue, ActorQueue, MainActorQueue, CancellableQueue, Task(on:).
    .target(
      name: "AsyncQueue", dependencies: ["CSwiftTask", "Inturn"],
      swiftSettings: [.define("INTURN_READS_TASKS", .when(traits: ["ReadsTasks"]))]),
    .testTarget(
      name: "AsyncQueueTests",
      dependencies: ["AsyncOperation", "AsyncQueue", "ConcurrentKVO", "InturnCore", "TestSupport"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
