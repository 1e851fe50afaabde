// INCLUDES

@Sendable func startUpload(_ photo: Int, then arrived: @escaping @Sendable () -> Void) {
  Task {
    try? await Task.sleep(for: .milliseconds(photo == 1 ? 300 : 100))
    print("photo", photo)
    arrived()
  }
}

// SNIPPET
