// INCLUDES

func save(_ text: String) async {
  await Task.yield()
  print("saved", text)
}

// SNIPPET
