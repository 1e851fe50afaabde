// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v26)],
  dependencies: [.package(name: "Inturn", path: "../../..")],
  targets: [
    // What they share: arguments, time, figures, memory.
    .target(name: "Harness"),
    .executableTarget(
      name: "swift_values",
      dependencies: ["Harness", .product(name: "ConcurrentKVO", package: "Inturn")]),
  ],
  swiftLanguageModes: [.v6]
)
