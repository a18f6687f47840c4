import ConiferDocument
public import Foundation

/// A latitude and a longitude, by the Apple SDK's name.
///
/// Any numbers make one. A write or a query with a point outside of the globe is refused.
public struct GeoPoint: Sendable, Hashable, Codable {
  /// Degrees north of the equator, from -90 to 90.
  public let latitude: Double
  /// Degrees east of Greenwich, from -180 to 180.
  public let longitude: Double

  /// A place.
  ///
  /// - Parameters:
  ///   - latitude: degrees, from -90 to 90.
  ///   - longitude: degrees, from -180 to 180.
  public init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// Orders by latitude, then by longitude.
  public func compare(_ other: GeoPoint) -> ComparisonResult {
    let (a, b) = ((latitude, longitude), (other.latitude, other.longitude))
    return a == b ? .orderedSame : a < b ? .orderedAscending : .orderedDescending
  }
}

extension GeoPoint: CustomStringConvertible {
  /// Latitude and longitude.
  public var description: String { "GeoPoint(latitude: \(latitude), longitude: \(longitude))" }

  init(_ model: ConiferDocument.GeoPoint) {
    self.init(latitude: model.latitude, longitude: model.longitude)
  }

  /// The place as fields keep it.
  ///
  /// - Throws: `invalidValue` outside of the globe.
  func checked() throws(DocumentError) -> ConiferDocument.GeoPoint {
    try ConiferDocument.GeoPoint(latitude: latitude, longitude: longitude)
  }
}
