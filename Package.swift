// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Inturn",
  platforms: [.macOS(.v15)],
  products: [
    // The C library: `libinturn`, whose interface is include/inturn.h.
    .library(name: "inturn", type: .dynamic, targets: ["InturnC"]),
    // Modal interactions, one at a time: `InteractionQueue`.
    .library(name: "InteractionQueue", targets: ["InteractionQueue"]),
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
    .target(name: "InteractionQueue", dependencies: ["InturnCore"]),
    // The main job: `swift run onboarding`.
    .executableTarget(
      name: "onboarding", dependencies: ["InturnC"], path: "examples/c",
      sources: ["onboarding.c"], cSettings: [.headerSearchPath("../../include")]),
    .testTarget(name: "InturnCoreTests", dependencies: ["InturnCore"]),
    .testTarget(name: "InteractionQueueTests", dependencies: ["InteractionQueue"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
