internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension CrashVerdict {
  /// The failure of a backend that is in none of the states: a commit before others is missing, a
  /// commit is there in part, parts are of different states, or something else.
  ///
  /// - Parameters:
  ///   - step: the number that the backend stores as its newest step.
  ///   - difference: how it differs from the state after that step.
  func failure(
    _ backend: any StorageBackend, _ step: Int, _ difference: String
  ) throws -> ConformanceFailure {
    guard let recorded = states.lastIndex(where: { $0.step == step }) else {
      return ConformanceFailure(.phantom, "no commit recorded step \(step)")
    }
    for missing in stride(from: recorded - 1, to: max(0, recorded - 40), by: -1) {
      if let model = state(recorded, without: missing), try isState(backend, model) {
        return ConformanceFailure(
          .hole,
          "step \(step) is there, and step \(states[missing].step) before it is not: \(difference)")
      }
    }
    // The last edit of a commit stores its step.
    for (index, kept) in [(recorded + 1, true), (recorded, false)]
    where states.indices.contains(index) {
      for cut in states[index].edits.indices {
        let edits = states[index].edits
        let some = kept ? edits[..<cut] : edits[cut...]
        if !some.isEmpty, index > 0, let model = applied([Array(some)], to: index - 1),
          try isState(backend, model)
        {
          return ConformanceFailure(
            .halfBatch,
            "of the \(edits.count) edits of step \(states[index].step) only \(some.count) are there: "
              + difference)
        }
      }
    }
    var words: [String] = []
    var isMixture = true
    for part in StateDifference.Part.allCases {
      let matching = try backend.readAll { (view) throws(StoreError) in
        var matching: [Int] = []
        for index in states.indices {
          if try StateDifference(view, ModelView(states[index].model)).first([part]) == nil {
            matching.append(index)
          }
        }
        return matching
      }
      words.append("\(part.rawValue) as in states \(matching)")
      if matching.isEmpty { isMixture = false }
    }
    return ConformanceFailure(
      isMixture ? .halfBatch : .wrongData,
      "after step \(step): \(difference) (\(words.joined(separator: ", ")))")
  }

  private func isState(_ backend: any StorageBackend, _ model: StorageModel) throws -> Bool {
    try backend.readAll { (view) throws(StoreError) in
      try StateDifference(view, ModelView(model)).first() == nil
    }
  }

  /// A state without one of the commits before it; nil when later ones depend on it.
  private func state(_ last: Int, without missing: Int) -> StorageModel? {
    let later = states[(missing + 1)...last]
    guard missing > 0, !states[missing].edits.isEmpty, later.allSatisfy({ !$0.edits.isEmpty })
    else {
      return nil
    }
    return applied(later.map(\.edits), to: missing - 1)
  }

  private func applied(_ commits: [[StorageEdit]], to index: Int) -> StorageModel? {
    var model = states[index].model
    for edits in commits {
      guard (try? model.commit(edits)) != nil else { return nil }
    }
    return model
  }
}
