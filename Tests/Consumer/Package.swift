// swift-tools-version: 6.2
import PackageDescription

// A user's package. It depends on Inturn by a path or, if INTURN_URL and INTURN_TAG are set, by a
// version of a repository.
let inturn: Package.Dependency
if let url = Context.environment["INTURN_URL"], let tag = Context.environment["INTURN_TAG"] {
  inturn = .package(url: url, exact: Version(stringLiteral: tag))
} else {
  inturn = .package(name: "Inturn", path: "../..")
}

let package = Package(
  name: "Consumer",
  platforms: [.macOS(.v15)],
  dependencies: [inturn],
  targets: [
    // Every Swift module in one program.
    .executableTarget(
      name: "modules",
      dependencies: [
        .product(name: "AsyncOperation", package: "Inturn"),
        .product(name: "AsyncQueue", package: "Inturn"),
        .product(name: "AsyncTaskPerformer", package: "Inturn"),
        .product(name: "ConcurrentKVO", package: "Inturn"),
        .product(name: "InteractionQueue", package: "Inturn"),
      ]),
    // Each feature with each kind of queue: see Tests/Features.
    .executableTarget(
      name: "features",
      dependencies: [
        .product(name: "AsyncOperation", package: "Inturn"),
        .product(name: "AsyncQueue", package: "Inturn"),
        .product(name: "InteractionQueue", package: "Inturn"),
      ]),
    // The C library, in a target in C.
    .executableTarget(
      name: "library", dependencies: [.product(name: "inturn", package: "Inturn")]),
  ],
  swiftLanguageModes: [.v6]
)
