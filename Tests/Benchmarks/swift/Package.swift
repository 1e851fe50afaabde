// swift-tools-version: 6.2
import PackageDescription

/// The benchmark programs in Swift. Each takes its peer from the name that it is called by.
let programs = ["swift_enqueue", "swift_tasks", "swift_round_trip", "swift_pending"]

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v26)],
  dependencies: [.package(name: "Inturn", path: "../../..")],
  targets: [
    // Shared by all: arguments, time, figures, memory.
    .target(name: "Harness"),
    .executableTarget(name: "concurrent", dependencies: ["Harness"]),
    .executableTarget(name: "graph", dependencies: ["Harness"]),
    .executableTarget(
      name: "swift_concurrent",
      dependencies: ["Harness", .product(name: "AsyncOperation", package: "Inturn")]),
    .executableTarget(
      name: "swift_values",
      dependencies: ["Harness", .product(name: "ConcurrentKVO", package: "Inturn")]),
  ]
    + programs.map {
      .executableTarget(
        name: $0,
        dependencies: ["Harness", .product(name: "AsyncQueue", package: "Inturn")])
    },
  swiftLanguageModes: [.v6]
)
