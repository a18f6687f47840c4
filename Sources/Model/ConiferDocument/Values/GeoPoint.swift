/// A latitude and a longitude in degrees.
///
/// Two points are equal when their bits are; minus zero and zero have the same position in the
/// order.
public struct GeoPoint: Sendable {
  /// Degrees north of the equator, from -90 to 90.
  public let latitude: Double
  /// Degrees east of Greenwich, from -180 to 180.
  public let longitude: Double

  /// A place.
  ///
  /// - Parameters:
  ///   - latitude: degrees, from -90 to 90.
  ///   - longitude: degrees, from -180 to 180.
  /// - Throws: `invalidValue` when one is out of its range or NaN.
  public init(latitude: Double, longitude: Double) throws(DocumentError) {
    guard latitude >= -90, latitude <= 90 else {
      throw DocumentError(
        .invalidValue, "The latitude is \(latitude). Give a number from -90 to 90.")
    }
    guard longitude >= -180, longitude <= 180 else {
      throw DocumentError(
        .invalidValue, "The longitude is \(longitude). Give a number from -180 to 180.")
    }
    self.latitude = latitude
    self.longitude = longitude
  }

  /// Orders by latitude, then by longitude: negative, zero or positive.
  static func compare(_ a: GeoPoint, _ b: GeoPoint) -> Int {
    let order = Number.compare(a.latitude, b.latitude)
    return order != 0 ? order : Number.compare(a.longitude, b.longitude)
  }
}

extension GeoPoint: Hashable {
  /// Whether both have the same bits.
  public static func == (a: GeoPoint, b: GeoPoint) -> Bool {
    a.latitude.bitPattern == b.latitude.bitPattern
      && a.longitude.bitPattern == b.longitude.bitPattern
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(latitude.bitPattern)
    hasher.combine(longitude.bitPattern)
  }
}
