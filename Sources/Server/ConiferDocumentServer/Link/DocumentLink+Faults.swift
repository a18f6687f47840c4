/// Faults, asked for by tests.
extension DocumentLink {
  /// What goes wrong by chance.
  public var faults: LinkFaults {
    get { script { $0.faults } }
    set { script { $0.faults = newValue } }
  }

  // MARK: Time

  /// Delays delivery; the order in each direction of a stream stays.
  ///
  /// - Parameters:
  ///   - delay: the least and the longest time from sending to delivery, beginning with the next message; zero
  ///     delivers at once.
  ///   - direction: which way; nil for both.
  public func delay(_ delay: ClosedRange<Duration>, _ direction: Direction? = nil) {
    script { script in
      for direction in direction.map({ [$0] }) ?? Direction.allCases {
        script.delays[direction] = delay.upperBound > .zero ? delay : nil
      }
    }
  }

  /// Delivers nothing until `release`.
  ///
  /// - Parameter direction: which way; nil for both.
  public func hold(_ direction: Direction? = nil) {
    script { $0.held.formUnion(direction.map { [$0] } ?? Direction.allCases) }
  }

  /// Delivers what was held, and ends the hold.
  public func release() {
    script { $0.held = [] }
    for channel in channels { channel.resume() }
  }

  // MARK: Streams

  /// Whether the server can be reached; false also cuts what is open.
  public var isReachable: Bool {
    get { script { $0.isReachable } }
    set {
      script { $0.isReachable = newValue }
      if !newValue { cut() }
    }
  }

  /// Lets the next attempts to open a stream, or to make a request without one, fail as `unavailable`.
  public func refuseOpens(next count: Int) { script { $0.refusedOpens = count } }

  /// Breaks all streams: what is on its way to the client is lost.
  ///
  /// - Parameter arrives: whether what is on its way to the server still arrives there.
  public func cut(arrives: Bool = false) {
    for channel in channels { channel.cut(LinkChannel.lost, arrives: arrives) }
  }

  /// Breaks all streams once some more messages were delivered.
  ///
  /// - Parameters:
  ///   - count: how many, over all streams; 0 or less breaks them at once.
  ///   - direction: which way.
  public func cut(after count: Int, _ direction: Direction) {
    if count <= 0 { return cut() }
    script { $0.cuts[direction] = count }
  }

  /// Lets the server do the next commits, and breaks the stream instead of delivering each answer.
  public func loseAnswers(next count: Int) { script { $0.lostAnswers = count } }
}
