internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// A backend that can check its own store finds nothing wrong with a sound one.
  static let verifying: [BackendCheck] = [
    BackendCheck(.store, "a check of the store finds nothing, also beside commits") { bench in
      let twin = try await bench.twin()
      guard twin.backend is any VerifyingBackend else { throw LeftOut("cannot check itself") }
      try await twin.set("rooms", .text(3000))
      try await twin.commit(
        .enqueue(twin.lane, .set("a", 1)), .pin(Pin(tree: twin.tree, path: "a")))
      try twin.isSound()
      let backend = twin.backend
      let tree = twin.tree
      let commits = Task {
        for number in 0..<40 {
          let path = Path("rooms/r\(number % 7)/m\(number)")
          _ = try await backend.commit([
            .overwrite(tree, path, .text(number * 60)),
            .saveQuery(TrackedQuery(tree: tree, path: path)),
            .enqueue(Lane(tree: tree), .set(path, .text(number * 300))),
          ])
          if number % 10 == 9 { _ = try await backend.tidy(.milliseconds(5)) }
        }
      }
      do {
        for _ in 0..<8 {
          try twin.isSound()
          await Task.yield()
        }
        try await commits.value
      } catch {
        commits.cancel()
        throw error
      }
      try twin.isSound()
    }
  ]
}
