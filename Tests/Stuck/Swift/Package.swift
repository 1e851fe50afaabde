// swift-tools-version: 6.2
import PackageDescription

// Programs in Swift that are stuck: `stuck NAME` runs one of them. They are a package of their own, as
// users of Inturn do not need them.
let package = Package(
  name: "InturnStuck",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Inturn", path: "../../..")],
  targets: [
    .executableTarget(
      name: "stuck",
      dependencies: ["AsyncOperation", "AsyncQueue", "AsyncTaskPerformer", "InteractionQueue"].map {
        .product(name: $0, package: "Inturn")
      }, path: "Sources")
  ],
  swiftLanguageModes: [.v6]
)
