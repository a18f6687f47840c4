internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// A backend that can check its own store finds nothing wrong with a sound one.
  static let verifying: [BackendCheck] = [
    BackendCheck(.store, "verify finds nothing in a sound store, also during commits") { fixture in
      let pair = try await fixture.pair()
      guard pair.backend is any VerifyingBackend else { throw NotApplicable("cannot check itself") }
      try await pair.set("rooms", .text(3000))
      try await pair.commit(
        .enqueue(pair.lane, .set("a", 1)), .pin(Pin(tree: pair.tree, path: "a")))
      try pair.isSound()
      let backend = pair.backend
      let tree = pair.tree
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
          try pair.isSound()
          await Task.yield()
        }
        try await commits.value
      } catch {
        commits.cancel()
        throw error
      }
      try pair.isSound()
    }
  ]
}
