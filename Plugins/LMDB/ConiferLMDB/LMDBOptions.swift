/// The sizes of an ``LMDBStore``'s map and reader table; the defaults suit an app.
///
/// The map is address space, not memory or disk: the file only grows as data comes. It is resized
/// between commits while no view is open, so start above the usual size where views are frequent.
public struct LMDBOptions: Sendable, Equatable {
  /// The map's size when a store is opened, in bytes; larger at once if the file is larger.
  public var initialMapSize: Int
  /// The map grows to this many times its size, at most ``longestGrowth`` bytes at a time.
  public var growthFactor: Double
  /// The maximum number of bytes that one growth adds, unless one batch needs more.
  public var longestGrowth: Int
  /// The size above which the map is never grown, in bytes: a store that needs more throws `full`.
  /// Commits that delete may use an eighth more, so that a full store can be emptied.
  public var maximumMapSize: Int
  /// How many views may be open at a time.
  public var readerSlots: Int
  /// How long a commit that must grow the map waits for open views before it throws `busy`.
  public var patience: Duration
  /// Bytes set aside on disk, so that deleting goes on when it is full; 0 for none.
  public var reserve: Int

  /// Options; sizes are rounded up to whole mebibytes.
  ///
  /// - Parameters:
  ///   - initialMapSize: bytes; 64 MiB by default. iOS refuses maps of many gigabytes.
  ///   - growthFactor: above 1; 2 by default.
  ///   - longestGrowth: bytes; 1 GiB by default.
  ///   - maximumMapSize: bytes; by default 64 GiB, on iOS 4 GiB.
  ///   - readerSlots: 126 by default.
  ///   - patience: 5 seconds by default.
  ///   - reserve: bytes; 512 KiB by default.
  public init(
    initialMapSize: Int = 64 << 20, growthFactor: Double = 2, longestGrowth: Int = 1 << 30,
    maximumMapSize: Int = LMDBOptions.usualMaximum, readerSlots: Int = 126,
    patience: Duration = .seconds(5), reserve: Int = 512 << 10
  ) {
    self.initialMapSize = initialMapSize
    self.growthFactor = growthFactor
    self.longestGrowth = longestGrowth
    self.maximumMapSize = maximumMapSize
    self.readerSlots = readerSlots
    self.patience = patience
    self.reserve = reserve
  }

  /// The default maximum of the map, in bytes: 4 GiB on phones, 64 GiB elsewhere.
  public static var usualMaximum: Int {
    #if os(iOS) || os(watchOS) || os(tvOS) || os(visionOS)
      return 4 << 30
    #else
      return 64 << 30
    #endif
  }

  /// The size of the map for a file of some bytes: with headroom, within the maximum.
  func mapSize(forFile length: Int) -> Int {
    let wanted = max(initialMapSize, length + length / 4, 1 << 20)
    return max(min(Self.rounded(wanted), maximumMapSize), Self.rounded(length))
  }

  /// The next size of a map that needs some more bytes; nil when the maximum is reached.
  ///
  /// - Parameter givesBack: whether the commit deletes. Such commits may use an eighth above the
  ///   maximum, since deleting takes new pages before it frees others.
  func grown(from size: Int, need: Int, givesBack: Bool = false) -> Int? {
    let limit = givesBack ? maximumMapSize + maximumMapSize / 8 : maximumMapSize
    guard size < limit else { return nil }
    let factor = growthFactor > 1 ? growthFactor : 2
    let step = min(Int(Double(size) * (factor - 1)), longestGrowth)
    return min(Self.rounded(size + max(step, need, 1 << 20)), limit)
  }

  private static func rounded(_ size: Int) -> Int {
    let unit = 1 << 20
    return (size + unit - 1) / unit * unit
  }
}
