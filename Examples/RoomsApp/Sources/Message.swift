import Conifer
import Foundation

struct Room: Codable, Sendable {
  var name: String
}

struct Message: Codable, Sendable {
  var text: String
  @ServerTimestamp var sent: Date?
}
