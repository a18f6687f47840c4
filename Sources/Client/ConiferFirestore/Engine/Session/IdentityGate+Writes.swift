import ConiferEngine

extension IdentityGate<DocumentStep> {
  /// How many writes wait to be asked for by somebody who is known.
  var writeCount: Int { count(where: \.isWrite) }

  /// Takes the oldest writes that wait; the others wait on, whatever they waited for.
  mutating func takeWrites(_ count: Int) -> [DocumentStep] {
    // Also those that go on waiting behind a failure of the provider.
    askingBegan()
    var left = count
    return remove { step in
      guard step.isWrite, left > 0 else { return false }
      left -= 1
      return true
    }
  }
}
