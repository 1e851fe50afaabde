// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "app",
  platforms: [.macOS(.v15)],
  // SNIPPET
)
