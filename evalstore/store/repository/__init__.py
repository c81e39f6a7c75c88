"""The repository itself: git as a program, its objects, trees and index; nothing of evalstore."""
