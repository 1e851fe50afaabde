import Foundation

// Lists the programs that are stuck, or runs one of them.

let scenarios =
  endless + actors + notStarted + waits + interactions + concurrent + operations

for scenario in scenarios {
  if CommandLine.arguments.dropFirst() == ["--list"] {
    print(scenario.name, scenario.expected, scenario.age, separator: "\t")
  } else if CommandLine.arguments.dropFirst() == [scenario.name] {
    print("ready")
    fflush(nil)
    do {
      try await scenario.run()
    } catch {}
    await forever()
  }
}
