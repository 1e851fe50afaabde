// swift-tools-version: 6.2
import PackageDescription

// The examples in Swift: `swift run --package-path examples/swift NAME`, from the repository's root.
// They are a package of their own, as some need libraries of the system that Inturn does not need.

func inturn(_ module: String) -> Target.Dependency { .product(name: module, package: "Inturn") }

func example(_ name: String, _ dependencies: Target.Dependency...) -> Target {
  .executableTarget(name: name, dependencies: dependencies, path: name)
}

let package = Package(
  name: "InturnExamples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Inturn", path: "../..")],
  targets: [
    // The same as in C and Python.
    example("onboarding", inturn("InteractionQueue"), inturn("AsyncQueue")),
    example("ordered_uploads", inturn("AsyncQueue")),
    example("database_writer", inturn("AsyncQueue"), "CSQLite"),
    example("keyed_queues", inturn("AsyncQueue")),
    example("finish_elsewhere", inturn("AsyncOperation"), "Printer"),
    example("redis_streams", inturn("AsyncQueue"), "CHiredis"),
    example("values", inturn("ConcurrentKVO")),
    // One program for each queue in AsyncQueue.
    example("fifo_queue", inturn("AsyncQueue")),
    example("actor_queue", inturn("AsyncQueue")),
    example("main_actor_queue", inturn("AsyncQueue")),
    example("cancellable_queue", inturn("AsyncQueue")),
    example("tutorial", inturn("AsyncOperation")),
    example(
      "moving", inturn("AsyncOperation"), inturn("AsyncQueue"), inturn("ConcurrentKVO")),
    // Operations, and lists of tasks.
    example("downloads", inturn("AsyncOperation")),
    example("hello", inturn("AsyncTaskPerformer")),
    example("bag", inturn("AsyncTaskPerformer")),
    // The printer's driver from examples/c.
    .target(name: "Printer", path: "Printer"),
    .systemLibrary(
      name: "CSQLite", path: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CHiredis", path: "CHiredis",
      providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
