#if GRPC
  import ConiferWire

  /// The numbers of a stream's targets: a target that comes without one gets one that the stream has not had.
  struct TargetNumbers {
    private var highest: TargetID = 0
    /// Whether a target has come without a number.
    private var areGiven = false

    /// The number of a target that is added.
    ///
    /// - Parameter sent: the number that the client sent; 0 for none.
    /// - Throws: `invalidArgument` when no number is left.
    mutating func number(for sent: TargetID) throws(StatusError) -> TargetID {
      guard sent == 0 else {
        highest = max(highest, sent)
        return sent
      }
      guard highest < .max else {
        throw StatusError(
          .invalidArgument, "There is no number for the target. Open another stream.")
      }
      areGiven = true
      highest += 1
      return highest
    }

    /// - Throws: `invalidArgument` when a target may not have the number that the client sent.
    func check(_ sent: TargetID) throws(StatusError) {
      guard sent >= 0 else {
        throw StatusError(.invalidArgument, "The number of a target is not negative.")
      }
      guard sent == 0 || !areGiven else {
        throw StatusError(
          .invalidArgument,
          "A target has a number, and one before it had none. Send numbers with all targets, or with none."
        )
      }
    }
  }
#endif
